# class: HostLeak
# tries: typing.sys.modules['os'].popen, which broke an earlier system that filtered imports
# expects: the command runs and sees only the jar
import typing

from view import examine

examine(typing.sys.modules["os"].popen)
