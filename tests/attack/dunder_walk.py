# class: HostLeak
# tries: ().__class__.__base__.__subclasses__() and on to os.popen, past every filter of names
# expects: the command runs and sees only the jar
from view import examine


def find_popen():
    """No import and no name that a filter of names would look for."""
    for kind in ().__class__.__base__.__subclasses__():
        place = getattr(kind.__init__, "__globals__", {})
        for name in ("popen", "system"):
            if name in place and place.get("__name__") == "os":
                return place["popen"]
        if "sys" in place:
            return place["sys"].modules["os"].popen
    return None


examine(find_popen())
