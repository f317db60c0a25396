"""Takes personal data out of texts, before they leave the place where it may be known.

What is found is replaced by a mark. Rules are about forms and check digits: a number that could be
anything counts only behind a word that announces it ("phone: 4155550123"). A text without any mark
is not proven to be harmless. Time grows with the length of the text and with nothing else.
"""

import ipaddress as _ipaddress
import re as _re

_GAP = " \t:=\"'>#.,([*-_"  # between a word and the number that it announces
_FILLERS = ("number", "no", "nr", "num", "is", "at", "was", "line")
_LATIN = "\u00c0-\u027f"
_LOCAL_OTHER = ".%+'-"
_LOCAL = ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + _LOCAL_OTHER
          + "".join(map(chr, range(0xC0, 0x280))))
_SIGN = _re.compile(rf"(?<=[\w.%+'{_LATIN}-])(?:@|%40)"
                    rf"(?=(?:[A-Za-z0-9{_LATIN}-]{{1,63}}\.){{1,127}}"
                    rf"(?:[A-Za-z{_LATIN}]{{2}}|xn--))", _re.ASCII)
_LABEL = _re.compile(rf"(?!-)[A-Za-z0-9{_LATIN}-]{{1,63}}")
_TOP_LEVEL = _re.compile(rf"xn--.*|[A-Za-z{_LATIN}]{{2,}}(?=-|\Z)")
_FILE_ENDINGS = {"png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "css", "js", "json", "html",
                 "txt", "gz"}

_END = r"(?!\w|-\w|\.\d)"
_CARD = _re.compile(r"(?<![\w.-])(?=\d{4}(?:\d{9,15}(?!\d)|"
                    r"([ -])(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5})(?!\d)))", _re.ASCII)
_CARD_SHAPES = [_re.compile(shape + _END, _re.ASCII) for shape in (
    r"\d{13,19}", r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}\1\d{3}", r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}",
    r"\d{4}([ -])\d{6}\1\d{5}", r"\d{4}([ -])\d{6}\1\d{4}")]
_CARD_LENGTHS: dict[int, set] = {}  # by the first four digits
for _low, _high, _lengths in (
        (4000, 4999, (13, 16, 19)), (5100, 5599, (16,)), (2221, 2720, (16,)),
        (2200, 2204, range(16, 20)), (3400, 3499, (15,)), (3700, 3799, (15,)), (3000, 3059, (14,)),
        (3600, 3699, (14,)), (3800, 3999, (14,)), (3528, 3589, range(16, 20)),
        (6011, 6011, range(16, 20)), (6440, 6599, range(16, 20)), (6200, 6299, range(16, 20)),
        (5018, 5018, range(13, 20)), (5020, 5020, range(13, 20)), (5038, 5038, range(13, 20)),
        (6304, 6304, range(13, 20)), (6759, 6763, range(13, 20))):
    for _first in range(_low, _high + 1):
        _CARD_LENGTHS.setdefault(_first, set()).update(_lengths)
_DOUBLED = str.maketrans("0123456789", "0246813579")  # and both digits of that added
_SSN = _re.compile(r"(?<![\w./+-])(?!000|666|9)\d{3}(?:([- ])(?!00)\d{2}\1|(?!00)\d{2})(?!0000)"
                   r"\d{4}" + _END, _re.ASCII)
_SSN_WORDS = ("ssn", "social security", "ss")

_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = _re.compile(rf"(?<![\w.])(?:{_BYTE}\.){{3}}{_BYTE}(?!\w|\.[A-Za-z0-9])", _re.ASCII)
_IPV4_PART = _re.compile(rf"(?:{_BYTE}\.){{3}}{_BYTE}(?!\d)")
_IPV6 = _re.compile(r"(?<![\w:.-])(?=[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:)", _re.ASCII)
_IPV6_RUN = _re.compile(r"[0-9A-Fa-f:]{2,46}")
_ZONE = _re.compile(r"%\w{1,16}", _re.ASCII)
_VERSION_WORDS = ("version", "ver", "release", "build", "firmware", "rev", "revision")
_PRODUCT = _re.compile(r"(?<![\w/.-])[A-Za-z]+/\Z", _re.ASCII)
_MAC = _re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}"
                   r"(?!\w|\1[0-9A-Fa-f])", _re.ASCII)

_IBAN = _re.compile(r"(?<!\w)(?=[A-Za-z]{2}\d\d[ -]?[A-Za-z0-9]{4})", _re.ASCII)
_IBAN_LENGTHS = {pair[:2]: int(pair[2:]) for pair in (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
    "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 "
    "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 "
    "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 "
    "SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30").split()}

_KEY = _re.compile(r"(?<![\w-])(?=[\w+/][\w+/=~-]{13})", _re.ASCII)
_KEY_FORMS = [_re.compile(form, _re.ASCII) for form in (
    r"(?:AIza[\w-]{35}|gh[pousr]_[\w-]{36}|npm_[\w-]{36}|glpat-[\w-]{20}"
    r"|[rs]k_(?:live|test)_[\w-]{16}|xox[abeprs]-[\w-]{10}|AKIA[\w-]{16})[\w-]*",
    r"(?:ASIA(?=[\w-]{16})|github_pat_(?=[\w-]{22})|hf_(?=[\w-]{30})|pypi-(?=[\w-]{40})"
    r"|sk-(?=[\w-]{20}))(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Z])[\w-]*",
    r"eyJ[\w-]{9,509}\.eyJ[\w.-]*")]
_ANY_KEY = _re.compile(r"(?=[\w+/=~-]{20})(?=[\w+/=~-]{0,63}\d)(?=[\w+/=~-]{0,63}[A-Za-z])"
                       r"[\w+/=~-]+", _re.ASCII)
_KEY_WORDS = ("bearer", "api_key", "apikey", "api-key", "api key", "secret", "secret_key",
              "access_key", "access_token", "auth_token", "client_secret", "private_key", "token",
              "password", "passwd")

_PHONE_START = r"(?<![\w.#$+-])"
_PHONE_END = r"(?:(?=x\d)|(?!\w|-\w|[.:]\d))"
_TEN = (r"(?:\(\d{3}\)[ .-]?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4}|\d{3}\.\d{3}\.\d{4}|"
        r"[2-9]\d\d [2-9]\d\d-\d{4})")
_NORTH_AMERICA = _re.compile(
    rf"{_PHONE_START}(?:\+1\d{{10}}|(?:1[ .-])?{_TEN}|"
    rf"\+1[ .-](?:\(\d{{3}}\)[ .-]?|\d{{3}}[ .-])\d{{3}}[ .-]\d{{4}}){_PHONE_END}", _re.ASCII)
_INTERNATIONAL = _re.compile(_PHONE_START + r"(?=\+[2-9](?:[ .()/-]{0,3}\d){7}|"
                             r"00\d{1,3}(?!\d)[ .(/-])", _re.ASCII)
_PHONE_WORDS = ("phone", "telephone", "tel", "mobile", "mob", "cell", "cellphone", "fax", "call",
                "called", "calling", "callback", "dial", "sms", "whatsapp", "contact", "telefon",
                "handy", "phonenumber", "phones", "ph", "msisdn")
_ANNOUNCED = _re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(sorted(_PHONE_WORDS, key=len, reverse=True))})"
    rf"(?:[{_re.escape(_GAP)}]{{0,8}}(?<![A-Za-z])(?:{'|'.join(_FILLERS)})){{0,2}}"
    rf"[{_re.escape(_GAP)}]{{0,8}}{_PHONE_START}(?=\(?\d)", _re.ASCII | _re.IGNORECASE)
_DIGITS = _re.compile(r"\d{1,16}", _re.ASCII)
_PHONE_ENDS = _re.compile(_PHONE_END, _re.ASCII)

_NAME = _re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_MARK = _re.compile(r"\[(?:EMAIL|PHONE|SSN|CC|IP|IBAN|KEY|MAC)_REDACTED\]")


def scrub_emails(text: str, replacement: str = "[EMAIL_REDACTED]") -> str:
    """The text with every e-mail address replaced, also where it stands in links
    (ann%40example.com)."""
    pieces, done = [], 0
    for sign in _SIGN.finditer(text):
        at = sign.start()
        if at < done:
            continue
        window = text[max(done, at - 64):at]
        local = window[len(window.rstrip(_LOCAL)):].lstrip(_LOCAL_OTHER)
        end = _domain_end(text, sign.end()) if local and local != "git" else 0
        if end:
            pieces += [text[done:at - len(local)], replacement]
            done = end
    return "".join(pieces) + text[done:]


def scrub_phone_numbers(text: str, replacement: str = "[PHONE_REDACTED]") -> str:
    """The text with every phone number replaced: 555-123-4567, (555) 123-4567, +49 30 1234567, and
    any seven or more digits that a word such as "phone" or "call" announces."""
    text = _NORTH_AMERICA.sub(lambda _: replacement, text)
    text = _replace(text, _INTERNATIONAL.finditer(text), _international_end, replacement)
    return _replace(text, _ANNOUNCED.finditer(text), _announced_end, replacement)


def scrub_ssn(text: str, replacement: str = "[SSN_REDACTED]") -> str:
    """The text with every social security number replaced: 123-45-6789, and without hyphens if it
    is announced (SSN 123456789)."""
    return _SSN.sub(lambda found: replacement if found.group(1) == "-"
                    or _is_announced(text, found.start(), _SSN_WORDS) else found.group(), text)


def scrub_credit_cards(text: str, replacement: str = "[CC_REDACTED]") -> str:
    """The text with every card number replaced: 13 to 19 digits of an issuer's range whose check
    digit fits, together or in groups; in groups with hyphens, as on cards, also without."""
    return _replace(text, _CARD.finditer(text), _card_end, replacement)


def scrub_ip_addresses(text: str, replacement: str = "[IP_REDACTED]") -> str:
    """The text with every IPv4 and IPv6 address replaced; versions (v1.2.3.4) stay."""
    text = _replace(text, _IPV6.finditer(text), _ipv6_end, replacement)
    return _IPV4.sub(lambda found: found.group() if _is_version(text, found.start())
                     else replacement, text)


def scrub_iban(text: str, replacement: str = "[IBAN_REDACTED]") -> str:
    """The text with every bank account number (IBAN) replaced that has its country's length and the
    right check digits."""
    return _replace(text, _IBAN.finditer(text), _iban_end, replacement)


def scrub_mac_addresses(text: str, replacement: str = "[MAC_REDACTED]") -> str:
    """The text with every hardware address (00:1a:2b:3c:4d:5e) replaced."""
    return _MAC.sub(lambda _: replacement, text)


def scrub_api_keys(text: str, replacement: str = "[KEY_REDACTED]") -> str:
    """The text with keys and tokens replaced: those of well-known forms (AKIA..., ghp_..., sk-...,
    signed web tokens), and long words that are called a key, token, secret or password."""
    return _replace(text, _KEY.finditer(text), _key_end, replacement)


def scrub_all_pii(text: str) -> str:
    """The text without e-mail addresses, account and card numbers, social security numbers, IP
    addresses and phone numbers. Long forms come first: no rule takes a part of another's."""
    for scrub in (scrub_emails, scrub_iban, scrub_credit_cards, scrub_ssn, scrub_ip_addresses,
                  scrub_phone_numbers):
        text = scrub(text)
    return text


def anonymize_names(text: str, name_map: dict[str, str] | None = None
                    ) -> tuple[str, dict[str, str]]:
    """The text with names (those in name_map, and two capitalised words) replaced by User-A, User-B
    and so on, and the map of what stands for whom."""
    names = dict(name_map or {})
    known = sorted(filter(None, names), key=len, reverse=True)
    form = _re.compile("|".join([*map(_re.escape, known), _NAME.pattern]))

    def stand_in(found):
        return names.setdefault(found.group(), f"User-{_letters(len(names))}")

    return form.sub(stand_in, text), names


def create_privacy_report(original: str, scrubbed: str) -> dict[str, int | str]:
    """What scrubbing has done to a text, and whether anything is left that the rules know."""
    mark = "\0"
    emails = [scrub_emails(text.replace(mark, ""), mark).count(mark)
              for text in (original, scrubbed)]
    return {"original_length": len(original), "scrubbed_length": len(scrubbed),
            "emails_removed": emails[0] - emails[1],
            "redaction_count": len(_MARK.findall(scrubbed)),
            "safety_check": "PASSED" if scrub_all_pii(scrubbed) == scrubbed else "FAILED"}


def _replace(text, starts, end_of, replacement):
    pieces, done = [], 0
    for start in starts:
        begin = start.end()
        end = end_of(text, begin) if begin >= done else 0
        if end:
            pieces += [text[done:begin], replacement]
            done = end
    return "".join(pieces) + text[done:]


def _is_announced(text, place, words):
    left = text[max(0, place - 48):place].lower()
    left = _without_gap(left)
    for _ in range(2):
        filler = next((word for word in _FILLERS if _ends_with_word(left, word)), "")
        left = _without_gap(left[:-len(filler)]) if filler else left
    return any(_ends_with_word(left, word) for word in words)


def _without_gap(text):
    return text[:-8] + text[-8:].rstrip(_GAP)


def _ends_with_word(text, word):
    if not text.endswith(word):
        return False
    before = text[-len(word) - 1:-len(word)]
    return not (before.isascii() and before.isalpha())


def _domain_end(text, begin):
    end, top, place, numbers, count = 0, "", begin, 0, 0
    while place - begin <= 253:
        label = _LABEL.match(text, place)
        if not label:
            break
        numbers += count < 2 and label.group().isascii() and label.group().isdigit()
        if numbers == 2:
            return 0  # a version: name@1.2.3-beta.rc
        last = _TOP_LEVEL.match(label.group())
        if count and last:
            top, end = last.group().lower(), place + last.end()
        count += 1
        place = label.end() + 1
        if text[label.end():place] != ".":
            break
    return 0 if top in _FILE_ENDINGS else end


def _card_end(text, begin):
    for shape in _CARD_SHAPES:
        found = shape.match(text, begin)
        if found:
            digits = found.group().replace(" ", "").replace("-", "")
            known = len(digits) in _CARD_LENGTHS.get(int(digits[:4]), ())
            if known and ("-" in found.group() or _luhn(digits)):
                return found.end()
    return 0


def _luhn(digits):
    total = sum(map(int, digits[-1::-2] + digits[-2::-2].translate(_DOUBLED)))
    return total > 0 and total % 10 == 0


def _is_version(text, place):
    left = text[max(0, place - 48):place]
    if left.endswith(("==", ">=", "<=", "~=")):
        return True
    if left.endswith("-") and left[-2:-1].isascii() and left[-2:-1].isalpha():
        return True
    if left.endswith("/"):
        return bool(_PRODUCT.search(left))
    return _is_announced(text, place, _VERSION_WORDS)


def _ipv6_end(text, begin):
    end = _IPV6_RUN.match(text, begin).end()
    if text[end:end + 1] == "." and text[end + 1:end + 2] in set("0123456789"):
        part = _IPV4_PART.match(text, text.rfind(":", begin, end) + 1)
        end = part.end() if part else end
    address = text[begin:end]
    if address.endswith(":") and not address.endswith("::"):
        address, end = address[:-1], end - 1
    if _re.match(r"\w", text[end:end + 1], _re.ASCII) or not _is_likely_ipv6(address):
        return 0
    zone = _ZONE.match(text, end)
    return zone.end() if zone else end


def _is_likely_ipv6(address):
    if "::" in address and "." not in address:
        if address.find(":") < 3 or not _re.search(r"\d", address):
            return False
    elif len(address) == 23 and set(address[2::3]) == {":"}:
        return False  # eight pairs are an identifier of hardware
    try:
        _ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _iban_end(text, begin):
    length = _IBAN_LENGTHS.get(text[begin:begin + 2].upper(), 0)
    separator = text[begin + 4:begin + 5]
    if separator in (" ", "-"):
        whole, rest = divmod(length, 4)
        groups = [4] * whole + [rest] * bool(rest)
        end = begin + length + len(groups) - 1
        parts = text[begin:end].split(separator)
        account = "".join(parts) if list(map(len, parts)) == groups else ""
    else:
        end = begin + length
        account = text[begin:end]
    if len(account) != length or not length or not account.isascii() or not account.isalnum():
        return 0
    number = int("".join(str(int(letter, 36)) for letter in account[4:] + account[:4]))
    return end if number % 97 == 1 and not _re.match(r"\w", text[end:end + 1], _re.ASCII) else 0


def _key_end(text, begin):
    for form in _KEY_FORMS:
        found = form.match(text, begin)
        if found:
            return found.end()
    found = _ANY_KEY.match(text, begin)
    return found.end() if found and _is_announced(text, begin, _KEY_WORDS) else 0


def _read_groups(text, place, enough):
    """Groups of digits, in brackets or not, until there are enough: lengths and the end."""
    lengths, end = [], 0
    while sum(lengths) < enough:
        brackets = text[place:place + 1] == "("
        digits = _DIGITS.match(text, place + brackets)
        if not digits or sum(lengths) + len(digits.group()) > 15:
            break
        after = digits.end()
        if brackets and text[after:after + 1] != ")":
            break
        after += brackets
        following = text[after:after + 1]
        if not brackets and following != "x" and _re.match(r"\w", following, _re.ASCII):
            break
        if following == ":" and _DIGITS.match(text, after + 1):
            break
        lengths.append(len(digits.group()))
        end = after
        separated = following in (" ", "-", ".") or (following == "/" and len(lengths) == 1)
        place = after + separated
        opens = text[place:place + 1] == "("
        if not (separated or brackets or opens) or not (opens or _DIGITS.match(text, place)):
            break
    return lengths, end


def _is_date(lengths):
    return len(lengths) >= 3 and (
        (lengths[0] == 4 and lengths[1] <= 2 and lengths[2] <= 2)
        or (lengths[0] <= 2 and lengths[1] <= 2 and lengths[2] == 4))


def _international_end(text, begin):
    if text[begin] == "+":
        lengths, end = _read_groups(text, begin + 1, 11)
        fits = sum(lengths) >= (8 if len(lengths) > 1 else 10)
    else:
        lengths, end = _read_groups(text, begin, 13)
        fits = len(lengths) >= 3 and sum(lengths) >= 10 and not _is_date(lengths)
    return end if fits and _PHONE_ENDS.match(text, end) else 0


def _announced_end(text, begin):
    lengths, end = _read_groups(text, begin, 10)
    fits = sum(lengths) >= 7 and not _is_date(lengths)
    return end if fits and _PHONE_ENDS.match(text, end) else 0


def _letters(number):
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text
