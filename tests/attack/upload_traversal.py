# class: HostLeak
# tries: a file sent with the request under the name ../../x
# expects: the request is refused; given to the engine itself, nothing leaves the jar
import os

from attempt import answer, given

name = f"x-{given['token']}"
places = ["/", "/tmp", *(os.path.join(os.getcwd(), "../" * steps) for steps in range(1, 4))]
found = [place for place in places if os.path.exists(os.path.join(place, name))]
answer(not found, f"written to {found}" if found else "nowhere to be found")
