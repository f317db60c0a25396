#include "engine/jar_pool.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace belljar::engine {
namespace {

constexpr std::size_t kMostUnderWay = 2;
// A run that has just taken a jar needs the warden and a processor more than the next jar does.
constexpr Duration kRestAfterTake = std::chrono::milliseconds(10);
// Of a crowd of runs most make their own jars anyway. One that is made ahead has a disk for
// whatever it may be asked, and takes the processor from those who make theirs.
constexpr Duration kRestInCrowd = std::chrono::milliseconds(200);
constexpr Duration kLongestWait = std::chrono::seconds(1);
constexpr Duration kFirstPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(30);
// Half of what runs get by default. With much less, a jar would be in the way of others: it holds
// locks of the kernel and would not get to run.
constexpr double kCpuWhileWaiting = 0.25;

execution::Limits while_waiting(execution::Limits limits) {
    limits.cpu = std::min(limits.cpu, kCpuWhileWaiting);
    return limits;
}

}  // namespace

JarPool::JarPool(const asio::any_io_executor& executor, WardenLink& warden, const Options& options,
                 const Log& log)
    : executor_(executor),
      warden_(warden),
      options_(options),
      log_(log),
      tasks_(executor, log),
      wake_(executor),
      pause_(kFirstPause) {}

std::size_t JarPool::Shelf::missing() const {
    return size.wanted() - std::min(size.wanted(), ready.size() + under_way);
}

void JarPool::fork_from(Zygotes& zygotes) {
    zygotes_ = &zygotes;
    zygotes.on_change([this] { wake_.cancel(); });
}

void JarPool::stock(approved::PackPtr tools) {
    if (same(tools, tools_)) {
        return;
    }
    tools_ = std::move(tools);
    for (const ShelfPtr& shelf : shelves_) {
        while (!shelf->ready.empty()) {
            end_spare(*shelf);
        }
    }
    wake_.cancel();
}

void JarPool::serve(const std::vector<runner::ManifestPtr>& manifests) {
    if (options_.bounds.ready == 0 || closing_) {
        return;
    }
    std::erase_if(shelves_, [&](const ShelfPtr& shelf) {
        const bool gone = std::ranges::find(manifests, shelf->manifest) == manifests.end();
        if (gone) {
            retire(*shelf);
        }
        return gone;
    });
    for (const runner::ManifestPtr& manifest : manifests) {
        if (shelf_of(manifest.get()) == nullptr) {
            const std::size_t usual = options_.bounds.ready;
            const std::size_t ready = std::min<std::size_t>(manifest->ready.value_or(usual), usual);
            shelves_.push_back(std::make_shared<Shelf>(
                Shelf{.manifest = manifest, .size = {ready, options_.bounds.most}}));
        }
    }
    wake_.cancel();
    if (!shelves_.empty() && !std::exchange(tended_, true)) {
        period_ends_ = Clock::now() + options_.bounds.idle;
        tasks_.spawn("jar pool", tend());
    }
}

void JarPool::retire(Shelf& shelf) {
    shelf.retired = true;
    while (!shelf.ready.empty()) {
        end_spare(shelf);
    }
    while (!shelf.waiting.empty()) {
        wake_next(shelf);
    }
}

JarPool::ShelfPtr JarPool::shelf_of(const runner::Manifest* manifest) const {
    const auto found = std::ranges::find_if(
        shelves_, [manifest](const ShelfPtr& shelf) { return shelf->manifest.get() == manifest; });
    return found == shelves_.end() ? nullptr : *found;
}

Task<void> JarPool::await_one(const runner::Manifest* manifest, execution::Limits limits,
                              approved::PackPtr tools) {
    const ShelfPtr shelf = shelf_of(manifest);
    if (shelf == nullptr || closing_ || !fits(*manifest, limits) || !same(tools, tools_) ||
        !shelf->ready.empty() || shelf->under_way <= shelf->waiting.size()) {
        co_return;
    }
    shelf->size.on_miss();
    asio::steady_timer wait(executor_, kLongestWait);
    shelf->waiting.push_back(&wait);
    boost::system::error_code ignored;
    co_await wait.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    std::erase(shelf->waiting, &wait);
}

void JarPool::wake_next(Shelf& shelf) {
    if (!shelf.waiting.empty()) {
        shelf.waiting.front()->cancel();
        shelf.waiting.pop_front();
    }
}

std::optional<LaunchedJar> JarPool::take(const runner::Manifest& manifest,
                                         const execution::Limits& limits, Begin begin,
                                         const approved::PackPtr& tools) {
    const ShelfPtr shelf = shelf_of(&manifest);
    if (shelf == nullptr || closing_) {
        return std::nullopt;
    }
    if (!fits(manifest, limits) || !same(tools, tools_)) {
        ++shelf->figures.unfit;
        return std::nullopt;
    }
    rest_after_take(*shelf);
    wake_.cancel();
    if (shelf->ready.empty()) {
        ++shelf->figures.missed;
        shelf->size.on_miss();
        if (shelf->under_way == kMostUnderWay) {  // and others wait for those
            shelf->crowded_until = Clock::now() + kRestInCrowd;
        }
        return std::nullopt;
    }
    LaunchedJar jar = std::move(shelf->ready.front());
    shelf->ready.pop_front();
    shelf->size.on_take(shelf->ready.size());
    if (begin == Begin::AtOnce && !warden_.start(jar.id, limits)) {
        note_loss(*shelf);
        return std::nullopt;
    }
    warden_.on_end(jar.id, nullptr);
    jar.io.set_limits(limits);
    ++shelf->figures.taken;
    pause_ = kFirstPause;
    return jar;
}

// While there are plenty, the next jars wait until no run begins for a moment.
void JarPool::rest_after_take(const Shelf& shelf) {
    const TimePoint now = Clock::now();
    const bool plenty = shelf.ready.size() > std::max<std::size_t>(shelf.size.wanted() / 2, 1);
    if (plenty || (not_before_ < now && shelf.ready.size() > 1)) {
        not_before_ = std::max(not_before_, now + kRestAfterTake);
    }
}

// What is made with a jar stays as it is. So little memory that the waiting interpreter may have
// more is for a jar of its own, where the run fails as it should.
bool JarPool::fits(const runner::Manifest& manifest, const execution::Limits& limits) const {
    const execution::Limits& made = options_.limits;
    const bool memory = options_.memory_limit == MemoryLimit::Fixed
                            ? limits.memory == made.memory
                            : limits.memory >= std::min(made.memory, manifest.ready_memory);
    return memory && limits.tmp == made.tmp && limits.workspace == made.workspace &&
           limits.processes == made.processes;
}

void JarPool::close() {
    closing_ = true;
    tasks_.close();
    wake_.cancel();
    for (const ShelfPtr& shelf : shelves_) {
        for (const LaunchedJar& jar : shelf->ready) {
            warden_.on_end(jar.id, [] {});
        }
        shelf->ready.clear();
        while (!shelf->waiting.empty()) {
            wake_next(*shelf);
        }
    }
}

std::map<std::string, PoolFigures> JarPool::figures() const {
    std::map<std::string, PoolFigures> figures;
    for (const ShelfPtr& shelf : shelves_) {
        PoolFigures& found = figures[shelf->manifest->language];
        found.ready += shelf->ready.size();
        found.taken += shelf->figures.taken;
        found.missed += shelf->figures.missed;
        found.unfit += shelf->figures.unfit;
        found.made += shelf->figures.made;
        found.lost += shelf->figures.lost;
    }
    return figures;
}

Task<void> JarPool::tend() {
    while (!closing_ && warden_.alive()) {
        if (Clock::now() >= period_ends_) {
            end_period();
        }
        wake_.expires_at(order_missing());
        boost::system::error_code ignored;
        co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
}

void JarPool::end_period() {
    period_ends_ = Clock::now() + options_.bounds.idle;
    for (const ShelfPtr& shelf : shelves_) {
        shelf->size.on_period(shelf->ready.size());
        while (shelf->ready.size() > shelf->size.wanted()) {
            end_spare(*shelf);
        }
    }
}

void JarPool::end_spare(Shelf& shelf) {
    const isolation::JarId spare = shelf.ready.back().id;
    warden_.on_end(spare, [] {});
    warden_.kill(spare, execution::KillReason::Cancelled);
    shelf.ready.pop_back();
}

TimePoint JarPool::order_missing() {
    while (const ShelfPtr shelf = neediest()) {
        if (Clock::now() < not_before_) {
            return std::min(not_before_, period_ends_);
        }
        ++shelf->under_way;
        ++under_way_;
        tasks_.spawn("make a jar", make(shelf));
    }
    TimePoint next = period_ends_;
    for (const ShelfPtr& shelf : shelves_) {
        if (shelf->crowded_until > Clock::now()) {
            next = std::min(next, shelf->crowded_until);
        }
    }
    return next;
}

// The one that lacks most, if another jar may be ordered at all.
JarPool::ShelfPtr JarPool::neediest() {
    const auto lack = [this](const ShelfPtr& shelf) {
        return has_room_for(*shelf) ? to_be_made(*shelf) : 0;
    };
    const auto most = std::ranges::max_element(shelves_, {}, lack);
    const bool needed = most != shelves_.end() && lack(*most) > 0;
    return needed && under_way_ < kMostUnderWay ? *most : nullptr;
}

// Who has as many as it should always have leaves room for what others should always have.
bool JarPool::has_room_for(const Shelf& shelf) const {
    const bool has_least = shelf.ready.size() + shelf.under_way >= shelf.size.least();
    std::uint64_t held = shelf.manifest->ready_memory.count;
    for (const ShelfPtr& other : shelves_) {
        const std::size_t there = other->ready.size() + other->under_way;
        const std::size_t kept = has_least ? std::max(there, other->size.least()) : there;
        held += kept * other->manifest->ready_memory.count;
    }
    return held <= options_.bounds.memory.count;
}

std::size_t JarPool::to_be_made(const Shelf& shelf) const {
    const bool is_early = zygotes_ != nullptr && zygotes_->awaited(*shelf.manifest);
    return is_early || Clock::now() < shelf.crowded_until ? 0 : shelf.missing();
}

Task<void> JarPool::make(ShelfPtr shelf) {
    const bool made = co_await try_make(shelf);
    --shelf->under_way;
    --under_way_;
    if (!made && !closing_ && !shelf->retired) {
        note_loss(*shelf);
    }
    wake_next(*shelf);
    wake_.cancel();
}

Task<bool> JarPool::try_make(ShelfPtr shelf) {
    const Birth birth{.begin = Begin::WhenTold,
                      .zygote = zygotes_ == nullptr ? 0 : zygotes_->take(*shelf->manifest),
                      .tools = tools_};
    Result<LaunchedJar> jar =
        launch_jar(executor_, warden_, *shelf->manifest, while_waiting(options_.limits), birth);
    if (!jar) {
        co_return false;
    }
    warden_.on_end(jar->id, [] {});  // its pipes tell
    const bool waits = co_await jar->io.await_sign();
    if (!waits || closing_ || shelf->retired) {
        warden_.kill(jar->id, execution::KillReason::Cancelled);
        co_return false;
    }
    if (!same(jar->tools, tools_)) {  // they have changed while it was made
        warden_.kill(jar->id, execution::KillReason::Cancelled);
        co_return true;
    }
    const isolation::JarId id = jar->id;
    shelf->ready.push_back(std::move(*jar));
    ++shelf->figures.made;
    warden_.on_end(id, [this, shelf, id] { drop(*shelf, id); });
    co_return true;
}

void JarPool::drop(Shelf& shelf, isolation::JarId id) {
    std::erase_if(shelf.ready, [id](const LaunchedJar& jar) { return jar.id == id; });
    note_loss(shelf);
    wake_.cancel();
}

// Jars that keep dying must not keep us busy.
void JarPool::note_loss(Shelf& shelf) {
    ++shelf.figures.lost;
    not_before_ = std::max(not_before_, Clock::now() + pause_);
    pause_ = std::min(pause_ * 2, kLongestPause);
    log_.warning("a jar made ahead was lost", {{"language", shelf.manifest->language}});
}

}  // namespace belljar::engine
