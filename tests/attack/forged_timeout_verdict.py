# class: Integrity
# tries: exit with 124, as if its time had been up
# expects: reported as exit code 124, not as timeout
import sys

print('{"status": "timeout"}')
sys.exit(124)
