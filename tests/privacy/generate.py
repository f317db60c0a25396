"""A labelled set of lines: what in them is personal data, and of which type. All of it is invented.

    python3 generate.py [SEED [COUNT]]      prints the lines, personal data as {{type:value}}
"""

import base64
import dataclasses
import json
import random
import string
import sys
import uuid

import numbers_of


@dataclasses.dataclass
class Line:
    """Text and what is in it: (begin, end, type)."""

    text: str
    spans: list


FIRST = ("anna ben carla deniz eva farid grace hugo ines jürgen kofi lena maría noor olga pavel "
         "qi rosa søren tomás uma victor wei ximena yusuf zoë").split()
LAST = ("adler böhm castro dubois eriksen fischer garcía hughes ivanov jensen kim lópez müller "
        "nguyen o'neil park quinn rossi sato tanaka ueda vogel weber xu young zhang").split()
DOMAINS = ("example.com example.org mail.example.co.uk example.de post.example.ch 163.com "
           "corp.example.io bücher.example xn--bcher-kva.example team-mail.example.net "
           "example.museum").split()
WORDS = ("the request was stored and then sent to another queue while the worker waited for its "
         "answer so nobody noticed that table rows were missing until morning").split()


class Values:
    """Makes one value of each type."""

    def __init__(self, chance):
        self.chance = chance

    def digits(self, count):
        return "".join(self.chance.choices(string.digits, k=count))

    def email(self):
        first, last = self.chance.choice(FIRST), self.chance.choice(LAST)
        local = self.chance.choice((f"{first}.{last}", f"{first[0]}{last}", f"{first}_{last}",
                                    f"{first}{self.digits(3)}", f"{first}+news",
                                    f"{last}-{first}", f"{first}.{last}.{self.digits(2)}"))
        address = f"{local}@{self.chance.choice(DOMAINS)}"
        return address.title() if self.chance.random() < 0.05 else address

    def ssn(self):
        area = self.chance.choice([*range(1, 666), *range(667, 900)])
        return f"{area:03}-{self.chance.randint(1, 99):02}-{self.chance.randint(1, 9999):04}"

    def credit_card(self):
        number = numbers_of.card(self.chance)
        if len(number) == 15:
            groups = number[:4], number[4:10], number[10:]
        elif len(number) == 16:
            groups = number[:4], number[4:8], number[8:12], number[12:]
        else:
            return number
        return self.chance.choice(("", " ", "-")).join(groups)

    def iban(self):
        number = numbers_of.iban(self.chance)
        if self.chance.random() < 0.4:
            return " ".join(number[at:at + 4] for at in range(0, len(number), 4))
        return number

    def ip_address(self):
        if self.chance.random() < 0.65:
            return ".".join(str(self.chance.randint(1, 254)) for _ in range(4))
        groups = [f"{self.chance.randint(0x1000, 0xffff):x}" for _ in range(8)]
        return self.chance.choice((
            ":".join(groups), f"2001:db8::{groups[0]}", f"fe80::{groups[0]}:{groups[1]}",
            f"2a00:{groups[2]}:{groups[3]}::1", f"fd{groups[0][:2]}:{groups[1]}::{groups[2]}",
            f"::ffff:10.{self.chance.randint(0, 255)}.0.{self.chance.randint(1, 254)}"))

    def mac_address(self):
        separator = self.chance.choice(":-")
        text = separator.join(f"{self.chance.randint(0, 255):02x}" for _ in range(6))
        return text.upper() if self.chance.random() < 0.3 else text

    def phone(self):
        """One that is known by its form."""
        area, exchange = self.chance.randint(201, 989), self.chance.randint(200, 999)
        line = self.digits(4)
        return self.chance.choice((
            f"{area}-{exchange}-{line}", f"({area}) {exchange}-{line}", f"{area}.{exchange}.{line}",
            f"+1 {area} {exchange} {line}".replace(" ", "-", self.chance.randint(0, 3)),
            f"+1{area}{exchange}{line}", f"1-{area}-{exchange}-{line}",
            f"+49 {self.chance.choice((30, 40, 89, 171))} {self.digits(7)}",
            f"+44 20 {self.digits(4)} {self.digits(4)}",
            f"+44{self.chance.choice('127')}{self.digits(9)}",
            f"+33 {self.chance.randint(1, 7)} " + " ".join(self.digits(2) for _ in range(4)),
            f"+91 {self.digits(5)} {self.digits(5)}",
            f"+86 1{self.digits(2)} {self.digits(4)} {line}", f"+55 11 9{self.digits(4)}-{line}",
            f"0041 44 {self.digits(3)} {self.digits(2)} {self.digits(2)}"))

    def announced_phone(self):
        """One that is known only by the word before it."""
        return self.chance.choice((
            f"{self.chance.randint(201, 989)}{self.chance.randint(200, 999)}{self.digits(4)}",
            f"020 {self.digits(4)} {self.digits(4)}", f"030/{self.digits(7)}",
            f"0171 {self.digits(7)}", "06 " + " ".join(self.digits(2) for _ in range(4)),
            f"{self.chance.randint(201, 989)} {self.chance.randint(200, 999)} {self.digits(4)}"))

    def api_key(self):
        letters = string.ascii_letters + string.digits

        def some(count):
            return "".join(self.chance.choices(letters, k=count))

        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        return self.chance.choice((
            "AKIA" + "".join(self.chance.choices(string.ascii_uppercase + "234567", k=16)),
            "ghp_" + some(36), "github_pat_" + some(60), "glpat-" + some(20), "sk-proj-" + some(48),
            "sk_live_" + some(24), f"xoxb-{self.digits(12)}-{some(24)}", "AIza" + some(35),
            ".".join((part({"alg": "HS256", "typ": "JWT"}), part({"sub": some(8)}), some(43)))))


class Decoys:
    """What only looks like personal data."""

    def __init__(self, chance, values):
        self.chance, self.values = chance, values

    def one(self):
        digits, chance = self.values.digits, self.chance
        return chance.choice((
            lambda: f"version {'.'.join(digits(1) for _ in range(4))}",
            lambda: f"v{chance.randint(1, 30)}.{chance.randint(0, 20)}.{digits(1)}.{digits(2)}",
            lambda: f"Chrome/{chance.randint(90, 140)}.0.0.0",
            lambda: f"10.0.{digits(5)}.{digits(4)}",
            lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            lambda: f"{chance.getrandbits(128):032x}", lambda: f"{chance.getrandbits(256):064x}",
            lambda: f"{chance.getrandbits(160):040x}"[:chance.choice((7, 12, 40))],
            lambda: f"2024-{chance.randint(10, 12)}-0{chance.randint(1, 9)}T12:34:56.{digits(3)}Z",
            lambda: f"2024-11-{chance.randint(10, 28)}T12:34:56+0{chance.randint(0, 9)}:00",
            lambda: f"{chance.randint(1500000000, 1900000000)}",
            lambda: f"{chance.randint(1500000000000, 1900000000000)}",
            lambda: f"order {digits(10)}", lambda: f"order_id={digits(12)}",
            lambda: f"#{digits(3)}-{digits(3)}-{digits(4)}", lambda: f"invoice {digits(16)}",
            lambda: f"112-{digits(7)}-{digits(7)}", lambda: f"{digits(3)}.{digits(9)}",
            lambda: f"0.{digits(16)}", lambda: f"-{digits(2)}.{digits(15)}",
            lambda: " ".join(digits(3) for _ in range(3)) + f" {digits(4)}",
            lambda: f"{digits(4)} {digits(4)} {digits(4)}", lambda: f"x[{digits(1)}::{digits(1)}]",
            lambda: "std::chrono::seconds",
            lambda: f"12:{chance.randint(10, 59)}:{chance.randint(10, 59)}",
            lambda: f"icon@{chance.randint(2, 4)}x.png", lambda: "git@github.com:team/project.git",
            lambda: f"lodash@{digits(1)}.{digits(2)}.{digits(1)}", lambda: "@app.route",
            lambda: f"ISBN 978-{digits(1)}-{digits(4)}-{digits(4)}-{digits(1)}",
            lambda: f"${digits(3)},{digits(3)}.{digits(2)}",
            lambda: f"{digits(2)}/{digits(2)}/{digits(4)}",
            lambda: ":".join(f"{chance.getrandbits(8):02x}" for _ in range(20)),
            lambda: f"called on 2024-{chance.randint(10, 12)}-{chance.randint(10, 28)}",
            lambda: f"DE{digits(20)}", lambda: "sk-toggleable-content-fitted-description",
            lambda: f"token count {digits(6)}", lambda: f"user@host{digits(1)}",
            lambda: f"SKU-{digits(4)}-{digits(4)}",
            lambda: f"{digits(3)}-{digits(2)}-{digits(3)}"))()


# {} is the place of a value.
FRAMES = (
    '2024-05-01T10:00:00Z INFO [worker-3] user {} logged in', "WARN retry=3 peer={} took 12.5ms",
    '{{"id": 17, "value": "{}", "ok": true}}', '{{"items": [{{"v": "{}"}}, {{"v": null}}]}}',
    "17,{},open,2024-05-01", '17;"{}";open', "| {} | done |", "Please write to {} before Friday.",
    "We heard from {}, who has moved.", "It was {}.", "({})", 'x = "{}"  # default', "print('{}')",
    "https://example.test/find?q={}&page=2", '<td class="c">{}</td>', "- {}", "value: {}",
    "INSERT INTO t VALUES (17, '{}');", "[{}] ready", "{}", "  {}\\n", "from {} to the archive",
    "curl -d {} https://example.test/", "last={};", "Client {} disconnected: timeout")
PHONE_FRAMES = ("phone: {}", '"phone": "{}"', "Tel. {}", "call {} today", "mobile={}", "fax {}",
                "home_phone,{}", "contact: {}", "Phone number is {}", "whatsapp: {}",
                "'mobile': '{}'")
SSN_FRAMES = ("SSN {}", "ssn={}", '"ssn": "{}"')
KEY_FRAMES = ("api_key = '{}'", "Authorization: Bearer {}", '"access_token": "{}"', "password={}")


class Set:
    """Lines, one after the other."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.values = Values(self.chance)
        self.decoys = Decoys(self.chance, self.values)

    def line(self):
        kind = self.chance.choice(("email", "phone", "ssn", "credit_card", "iban", "ip_address",
                                   "mac_address", "api_key", "decoy", "decoy", "decoy", "decoy",
                                   "mixed"))
        if kind == "decoy":
            return self.fill(self.frame(), [(self.decoys.one(), None)])
        if kind == "mixed":
            return self.mixed()
        frame, value = self.frame(), getattr(self.values, kind)()
        if kind == "phone" and self.chance.random() < 0.3:
            frame, value = self.chance.choice(PHONE_FRAMES), self.values.announced_phone()
        elif kind == "phone" and self.chance.random() < 0.01:
            value = self.values.announced_phone()  # that nothing announces
        elif kind == "ssn" and self.chance.random() < 0.2:
            frame = self.chance.choice(SSN_FRAMES)
            value = value.replace("-", self.chance.choice(("", " ")))
        elif kind == "api_key" and self.chance.random() < 0.25:
            frame = self.chance.choice(KEY_FRAMES)
            value = "".join(self.chance.choices(string.ascii_letters + string.digits + "+/", k=32))
        return self.fill(frame, [(value, kind)])

    def frame(self):
        return self.chance.choice(FRAMES).replace("{{", "{").replace("}}", "}")

    def mixed(self):
        kinds = self.chance.sample(("email", "phone", "ssn", "credit_card", "ip_address", "iban"),
                                   3)
        parts = [(getattr(self.values, kind)(), kind) for kind in kinds]
        parts.insert(self.chance.randint(0, 3), (self.decoys.one(), None))
        words = self.chance.choices(WORDS, k=5)
        separator = self.chance.choice((", ", "; ", " | ", ",", "\t"))
        return self.fill(" ".join(words) + separator + separator.join(["{}"] * 4), parts)

    @staticmethod
    def fill(frame, parts):
        text, spans = "", []
        pieces = frame.split("{}")
        for piece, (value, kind) in zip(pieces, parts):
            text += piece
            if kind:
                spans.append((len(text), len(text) + len(value), kind))
            text += value
        return Line(text + pieces[-1], spans)


def make(seed, count):
    """So many lines; the same for the same seed."""
    lines = Set(seed)
    return [lines.line() for _ in range(count)]


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for line in make(seed, int(sys.argv[2]) if len(sys.argv) > 2 else 100):
        shown, done = "", 0
        for begin, end, kind in line.spans:
            shown += line.text[done:begin] + "{{" + kind + ":" + line.text[begin:end] + "}}"
            done = end
        print(shown + line.text[done:])


if __name__ == "__main__":
    main()
