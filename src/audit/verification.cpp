#include "audit/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "audit/line_reader.h"
#include "audit/seq_ranges.h"

namespace belljar::audit {
namespace {

constexpr int kHeadTries = 20;  // while somebody writes it

std::string text_in(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

std::uint64_t number_in(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    boost::system::error_code error;
    const auto number = value != nullptr ? value->to_number<std::uint64_t>(error) : 0;
    return error ? 0 : number;
}

std::optional<std::string> from_hex(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string bytes;
    for (std::size_t index = 0; index + 1 < text.size(); index += 2) {
        const std::size_t high = kDigits.find(text[index]);
        const std::size_t low = kDigits.find(text[index + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) {
            return std::nullopt;
        }
        bytes += static_cast<char>(high * 16 + low);
    }
    return text.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

// One pass over a trail. Steps return false once a fault is known.
class Verifier {
   public:
    Verifier(const Fd& directory, const VerificationWish& wish)
        : directory_(directory), wish_(wish) {}

    Result<VerificationReport> run() {
        BJ_TRY(files_, list_trail(directory_));
        const Result<std::string> head = read_small(directory_, kHeadFile);
        if (files_.empty() && !head) {
            return fail(ErrorCode::NotFound, "there is no audit trail here");
        }
        // The head first: what is written meanwhile only adds to what it tells.
        if (read_keys() && read_head()) {
            BJ_TRY(files_, list_trail(directory_));
            BJ_TRY_VOID(read_files());
            if (!report_.fault) {
                conclude();
            }
        }
        return std::move(report_);
    }

   private:
    bool found(Fault fault) {
        report_.fault = std::move(fault);
        return false;
    }

    bool read_keys() {
        const Result<std::string> shown = read_small(directory_, kPublicKeyFile);
        const Result<crypto::SigningKey> beside =
            shown ? crypto::SigningKey::from_public_pem(*shown)
                  : Result<crypto::SigningKey>(fail(shown.error()));
        if (!beside) {
            return found({.file = kPublicKeyFile,
                          .why = shown ? "this is no public key as it was written"
                                       : "the public key is missing"});
        }
        key_ = *beside;
        if (!wish_.public_key.empty()) {
            const Result<crypto::SigningKey> given =
                crypto::SigningKey::from_public_pem(wish_.public_key);
            if (!given || given->public_bytes() != key_->public_bytes()) {
                return found({.file = kPublicKeyFile, .why = "this is not the key that was given"});
            }
        }
        report_.key = key_id(*key_);
        return read_private_key();
    }

    bool read_private_key() {
        const Result<std::string> pem = read_small(directory_, kKeyFile);
        if (!pem && pem.error().code == ErrorCode::NotFound && wish_.public_key.empty()) {
            return found({.file = kKeyFile,
                          .why = "the private key is missing; a copy of a trail without it is "
                                 "verified with its public key, kept elsewhere (--public-key)"});
        }
        if (!pem) {
            report_.notes.emplace_back(
                "the private key cannot be read, so that what comes after the last signature, and "
                "the marks of single records, are not proved");
            return true;
        }
        const Result<crypto::SigningKey> key = crypto::SigningKey::from_private_pem(*pem);
        if (!key) {
            return found({.file = kKeyFile, .why = "this is no private key as it was written"});
        }
        if (key->public_bytes() != key_->public_bytes()) {
            return found({.file = kKeyFile, .why = "the two keys do not belong together"});
        }
        mac_key_ = keys_of(*key).mac_key;
        return true;
    }

    bool read_head() {
        std::string before;
        for (int attempt = 0; attempt < kHeadTries; ++attempt) {
            const Result<std::string> text = read_small(directory_, kHeadFile);
            const Result<Head> head =
                text ? parse_head(*text, mac_key_) : Result<Head>(fail(text.error()));
            if (head) {
                head_ = *head;
                return true;
            }
            if (!text || *text == before) {
                break;
            }
            before = *text;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return found({.file = kHeadFile, .why = "the head is missing or was changed"});
    }

    Result<void> read_files() {
        std::optional<std::uint64_t> before;
        for (const std::uint64_t number : files_) {
            if (number > head_.file && is_unfinished(number)) {
                report_.notes.push_back(
                    fmt::format("{} was begun when its writer ended, and holds nothing yet",
                                trail_name(number)));
                break;
            }
            if (before && number != *before + 1) {
                found({.file = trail_name(*before + 1), .why = "the file is missing"});
                return {};
            }
            BJ_TRY_VOID(read_file(number));
            if (report_.fault) {
                return {};
            }
            before = number;
        }
        return {};
    }

    // A file that a rotation had begun when its process was killed: its first record at most, which
    // may be older than what others have added to the file before since.
    bool is_unfinished(std::uint64_t number) {
        const Result<Fd> file = open_trail(directory_, number);
        if (!file) {
            return false;
        }
        LineReader reader(*file, 0);
        const Result<LineReader::Line> first = reader.next();
        if (!first || first->state != LineReader::State::Whole) {
            return first.has_value();
        }
        const Result<LineParts> parts = split_line(first->text);
        const bool begins =
            parts && parts->kind == "file" && parts->seq <= head_.end.seq + 1 &&
            check_line(*parts, {.seq = parts->seq - 1, .hash = std::string(parts->prev)}, mac_key_);
        const Result<LineReader::Line> second = reader.next();
        return begins && second && second->state == LineReader::State::End &&
               head_.file + 1 == number && end_.seq == head_.end.seq;
    }

    Result<void> read_file(std::uint64_t number) {
        BJ_TRY(const Fd file, open_trail(directory_, number));
        place_ = {.file = trail_name(number)};
        LineReader reader(file, 0);
        while (!report_.fault) {
            if (wish_.stop != nullptr && wish_.stop->load()) {
                return fail(ErrorCode::Cancelled, "the verification was stopped");
            }
            const Result<LineReader::Line> line = reader.next();
            ++place_.line;
            if (!line && line.error().code == ErrorCode::TooLarge) {
                wrong(line.error().message);
                return {};
            }
            BJ_TRY_VOID(line);
            if (line->state == LineReader::State::End) {
                break;
            }
            if (line->state == LineReader::State::Torn) {
                read_torn(number, line->text);
                break;
            }
            read_line(number, line->text);
        }
        ++report_.files;
        return {};
    }

    // The last record of the last file may be one that was never completed.
    void read_torn(std::uint64_t number, std::string_view text) {
        const bool last = number == files_.back();
        // A whole record with another byte in the place of its line break is no such thing.
        const Result<LineParts> whole = split_line(text.substr(0, text.size() - 1));
        if (!last || end_.seq < head_.end.seq || (whole && check_line(*whole, end_, mac_key_))) {
            wrong("the line is cut off");
            return;
        }
        report_.notes.push_back(fmt::format(
            "{} ends with {} bytes of a record that is not complete; nobody was answered for it",
            place_.file, text.size()));
    }

    bool wrong(std::string why) {
        place_.seq = end_.seq + (report_.records > 0 ? 1 : 0);
        place_.why = std::move(why);
        return found(place_);
    }

    bool read_line(std::uint64_t number, std::string_view text) {
        const Result<LineParts> parts = split_line(text);
        if (!parts) {
            return wrong(parts.error().message);
        }
        if (report_.records == 0) {
            report_.first_seq = parts->seq;
            end_ = {.seq = parts->seq - 1, .hash = std::string(parts->prev)};
            start_ = end_;
        }
        if (const Result<void> good = check_line(*parts, end_, mac_key_); !good) {
            return wrong(good.error().message);
        }
        if ((place_.line == 1) != (parts->kind == "file")) {
            return wrong("a file begins with the record that names it, and only there");
        }
        if (!read_kind(number, *parts)) {
            return false;
        }
        if (parts->erased) {
            add_seq(erased_, parts->seq);
            ++report_.erased;
        }
        end_ = {.seq = parts->seq, .hash = std::string(parts->hash)};
        ++report_.records;
        if (end_.seq == head_.end.seq && end_.hash != head_.end.hash) {
            return wrong("the head tells of another record");
        }
        return true;
    }

    bool read_kind(std::uint64_t number, const LineParts& parts) {
        if (parts.kind != "file" && parts.kind != "signature" && parts.kind != "erasure" &&
            parts.kind != "retention" && parts.kind != "recovery") {
            return true;
        }
        const Result<json::value> body = parse_json(parts.body);
        if (!body || !body->is_object()) {
            return wrong("its body is no JSON object");
        }
        const json::object& object = body->get_object();
        if (parts.kind == "file") {
            return read_beginning(number, object);
        }
        if (parts.kind == "signature") {
            return read_signature(parts, object);
        }
        if (parts.kind == "erasure") {
            const json::value* ranges = object.if_contains("records");
            const auto erased = ranges != nullptr ? parse_ranges(*ranges) : std::nullopt;
            if (!erased) {
                return wrong("it does not say which records were erased");
            }
            allowed_.insert(allowed_.end(), erased->begin(), erased->end());
            return true;
        }
        return parts.kind == "retention" ? read_retention(object) : read_recovery(parts, object);
    }

    bool read_beginning(std::uint64_t number, const json::object& body) {
        if (number_in(body, "file") != number) {
            return wrong(
                fmt::format("this is the content of {}", trail_name(number_in(body, "file"))));
        }
        return text_in(body, "public_key") == to_hex(key_->public_bytes()) ||
               wrong("the file was begun with another key");
    }

    bool read_signature(const LineParts& parts, const json::object& body) {
        const std::optional<std::string> signature = from_hex(text_in(body, "signature"));
        if (number_in(body, "signed") != end_.seq || text_in(body, "key") != report_.key ||
            !signature || !key_->verify(signed_text(end_), *signature)) {
            return wrong("its signature is not valid");
        }
        ++report_.signatures;
        report_.signed_seq = parts.seq;
        report_.signed_at = std::string(parts.time);
        return true;
    }

    bool read_retention(const json::object& body) {
        const json::value* removed = body.if_contains("removed");
        if (removed == nullptr || !removed->is_array()) {
            return wrong("it does not say what was removed");
        }
        for (const json::value& item : removed->get_array()) {
            if (const json::object* file = item.if_object()) {
                boundaries_[number_in(*file, "last_seq")] = text_in(*file, "last_hash_was");
            }
        }
        return true;
    }

    bool read_recovery(const LineParts& parts, const json::object& body) {
        const std::uint64_t claimed = number_in(body, "head_seq");
        if (claimed > end_.seq) {
            return wrong(fmt::format("records {} to {} were lost before it was written", parts.seq,
                                     claimed));
        }
        report_.notes.push_back(fmt::format("record {}: {}", parts.seq, text_in(body, "why")));
        return true;
    }

    void conclude() {
        report_.last_seq = end_.seq;
        report_.last_hash = end_.hash;
        if (end_.seq < head_.end.seq) {
            found({.file = files_.empty() ? kHeadFile : trail_name(files_.back()),
                   .seq = end_.seq + 1,
                   .why = fmt::format("records are missing at the end: there were {}",
                                      head_.end.seq)});
            return;
        }
        if (start_.seq == 0 ? start_.hash != kHashOfNothing : !begins_at_boundary()) {
            found({.file = trail_name(files_.front()),
                   .line = 1,
                   .seq = start_.seq + 1,
                   .why = "records are missing before it, and none says that they were removed"});
            return;
        }
        if (const auto seq = first_outside(erased_, merged(allowed_))) {
            found({.seq = *seq, .why = "its personal part is gone, and no record says so"});
            return;
        }
        if (report_.signed_seq < end_.seq) {
            report_.notes.push_back(fmt::format("records {} to {} come after the last signature",
                                                report_.signed_seq + 1, end_.seq));
        }
    }

    [[nodiscard]] bool begins_at_boundary() const {
        const auto boundary = boundaries_.find(start_.seq);
        return boundary != boundaries_.end() && boundary->second == start_.hash;
    }

    const Fd& directory_;
    const VerificationWish& wish_;
    VerificationReport report_;
    std::vector<std::uint64_t> files_;
    std::optional<crypto::SigningKey> key_;
    std::string mac_key_;
    Head head_;
    ChainEnd start_;  // before the first record that is there
    ChainEnd end_;
    Fault place_;
    SeqRanges erased_;
    SeqRanges allowed_;
    std::map<std::uint64_t, std::string> boundaries_;  // last record of removed files
};

}  // namespace

Result<VerificationReport> verify_trail(const Fd& directory, const VerificationWish& wish) {
    return Verifier(directory, wish).run();
}

}  // namespace belljar::audit
