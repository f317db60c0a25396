#include <iostream>

int main() { std::cout << __VERSION__ << '\n'; }
