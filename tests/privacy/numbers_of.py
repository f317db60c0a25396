"""Numbers with check digits, made without the code that is tested with them."""

import string

CARDS = (("4", 16), ("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15),
         ("6011", 16), ("36", 14), ("3530", 16), ("6221", 16))
ACCOUNTS = {"DE": "n18", "GB": "a4n14", "FR": "n10c11n2", "NL": "a4n10", "ES": "n20", "CH": "n5c12",
            "AT": "n16", "IT": "a1n10c12", "NO": "n11", "PL": "n24", "BE": "n12", "SE": "n20"}


def card(chance):
    """A card number."""
    prefix, length = chance.choice(CARDS)
    body = prefix + "".join(chance.choices(string.digits, k=length - len(prefix) - 1))
    for check in string.digits:
        total = 0
        for place, digit in enumerate(reversed(body + check)):
            value = int(digit) * (2 if place % 2 else 1)
            total += value // 10 + value % 10
        if total % 10 == 0:
            return body + check
    raise AssertionError(body)


def iban(chance):
    """An account number of one of several countries."""
    country = chance.choice(sorted(ACCOUNTS))
    kinds = {"n": string.digits, "a": string.ascii_uppercase,
             "c": string.ascii_uppercase + string.digits}
    account, form = "", ACCOUNTS[country]
    while form:
        kind, rest = form[0], form[1:]
        length = int("".join(letter for letter in rest[:2] if letter.isdigit()))
        account += "".join(chance.choices(kinds[kind], k=length))
        form = rest[len(str(length)):]
    as_number = "".join(str(int(letter, 36)) for letter in account + country) + "00"
    return f"{country}{98 - int(as_number) % 97:02}{account}"
