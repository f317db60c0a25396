"""Takes personal data out of texts, before they leave the place where it may be known.

What is found is replaced by a mark. Rules are about forms: what has the form of a card number and
its check digit is one. A text without any mark is not proven to be harmless.
"""

import ipaddress as _ipaddress
import re as _re

_EMAIL = _re.compile(r"[A-Za-z0-9._%+'-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_SSN = _re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])")
# 13 to 19 digits, one blank or hyphen between two of them at most.
_CARD = _re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_PHONE = _re.compile(r"(?<![\w.:-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)[ .-]?|\d{3}[ .-])"
                     r"\d{3}[ .-]?\d{4}(?![\w-])|(?<![\w.:+-])\d{10}(?![\w.:-])|"
                     r"(?<![\w.:])\+\d{1,3}(?:[ .-]?\d{1,4}){2,6}(?!\w)")
_IPV4 = _re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = _re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|"
                    r"[0-9A-Fa-f]{0,4})(?:%[\w.-]+)?(?![\w:])")
_NAME = _re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_MARK = _re.compile(r"\[(?:EMAIL|PHONE|SSN|CC|IP)_REDACTED\]")


def scrub_emails(text: str, replacement: str = "[EMAIL_REDACTED]") -> str:
    """The text with every e-mail address replaced."""
    return _EMAIL.sub(lambda _: replacement, text)


def scrub_phone_numbers(text: str, replacement: str = "[PHONE_REDACTED]") -> str:
    """The text with every phone number replaced."""
    return _PHONE.sub(lambda _: replacement, text)


def scrub_ssn(text: str, replacement: str = "[SSN_REDACTED]") -> str:
    """The text with every social security number (123-45-6789) replaced."""
    return _SSN.sub(lambda _: replacement, text)


def scrub_credit_cards(text: str, replacement: str = "[CC_REDACTED]") -> str:
    """The text with every card number replaced: 13 to 19 digits, with blanks or hyphens or without,
    whose check digit fits, or that stand in groups as they do on cards."""
    return _CARD.sub(lambda found: replacement if _is_card(found.group()) else found.group(), text)


def scrub_ip_addresses(text: str, replacement: str = "[IP_REDACTED]") -> str:
    """The text with every IPv4 and IPv6 address replaced."""
    for form in (_IPV6, _IPV4):
        text = form.sub(lambda found: replacement if _is_address(found.group())
                        else found.group(), text)
    return text


def scrub_all_pii(text: str) -> str:
    """The text without e-mail addresses, cards, social security numbers, IP addresses and phone
    numbers. Long forms come first, so that no rule takes a part of another's."""
    for scrub in (scrub_emails, scrub_credit_cards, scrub_ssn, scrub_ip_addresses,
                  scrub_phone_numbers):
        text = scrub(text)
    return text


def anonymize_names(text: str, name_map: dict = None) -> tuple:
    """The text with names (two capitalised words, and those in name_map) replaced by User-A, User-B
    and so on, and the map of what stands for whom."""
    names = dict(name_map or {})
    for found in _NAME.findall(text):
        if found not in names:
            names[found] = f"User-{_letters(len(names))}"
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text, names


def create_privacy_report(original: str, scrubbed: str) -> dict:
    """What scrubbing has done to a text, and whether anything is left that the rules know."""
    return {"original_length": len(original), "scrubbed_length": len(scrubbed),
            "emails_removed": len(_EMAIL.findall(original)) - len(_EMAIL.findall(scrubbed)),
            "redaction_count": len(_MARK.findall(scrubbed)),
            "safety_check": "PASSED" if scrub_all_pii(scrubbed) == scrubbed else "FAILED"}


def _letters(number):
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _is_card(text):
    digits = [int(letter) for letter in text if letter.isdigit()]
    grouped = _re.fullmatch(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5}", text)
    return bool(grouped) or _luhn(digits)


def _luhn(digits):
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return any(digits) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_address(text):
    try:
        _ipaddress.ip_address(text)
    except ValueError:
        return False
    return text != "::"
