#include <stdio.h>

int main(void) {
    printf("%s\n", __VERSION__);
    return 0;
}
