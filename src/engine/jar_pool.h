#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "base/task_group.h"
#include "engine/launched_jar.h"
#include "engine/pool_size.h"
#include "engine/run_counters.h"
#include "engine/tool_shelf.h"
#include "engine/zygotes.h"
#include "execution/limits.h"
#include "runner/manifest.h"

namespace belljar::engine {

// Jars made before there is a request, each with an interpreter that waits for one. A jar serves
// one run and is gone, like any other. Made in the background, two at a time, with half of a run's
// share of the processor. On the I/O thread.
class JarPool {
   public:
    struct Bounds {
        std::size_t ready = 0;  // for each language, without demand; 0: no pool
        std::size_t most = 32;  // for each language, with demand
        Duration idle = std::chrono::seconds(30);
        // For all together. Each counts with what its manifest says: only the warden could tell
        // what it really uses.
        Bytes memory = mebibytes(256);
    };
    // Whether a jar's memory limit can be changed once it is made.
    enum class MemoryLimit { Changeable, Fixed };

    struct Options {
        Bounds bounds{};
        execution::Limits limits{};  // those of most runs; jars are made with them
        MemoryLimit memory_limit = MemoryLimit::Changeable;
    };

    JarPool(const asio::any_io_executor& executor, WardenLink& warden, const Options& options,
            const Log& log);

    // Jars have these tools from now on; those that are ready with others are ended.
    void stock(approved::PackPtr tools);
    // Guests are forked from these, where one is ready. They outlive the pool.
    void fork_from(Zygotes& zygotes);
    // Makes jars for these from now on, and for no others: what waits for those is ended.
    void serve(const std::vector<runner::ManifestPtr>& manifests);
    // If none is ready, until one is that is being made already: that takes less than to make
    // another beside it. At once if there is no such jar, or others wait for it.
    Task<void> await_one(const runner::Manifest* manifest, execution::Limits limits,
                         approved::PackPtr tools = nullptr);
    // A jar whose run begins now under these limits, or when the warden is told, if one is ready
    // that they fit and that has these tools.
    std::optional<LaunchedJar> take(const runner::Manifest& manifest,
                                    const execution::Limits& limits, Begin begin = Begin::AtOnce,
                                    const approved::PackPtr& tools = nullptr);
    // Makes no more jars and forgets the ready ones, which end with the link to the warden.
    void close();

    [[nodiscard]] std::map<std::string, PoolFigures> figures() const;  // by language

   private:
    struct Shelf {
        runner::ManifestPtr manifest{};
        PoolSize size;
        bool retired = false;
        std::list<LaunchedJar> ready{};
        std::size_t under_way = 0;
        TimePoint crowded_until{};                 // none is made before that
        std::list<asio::steady_timer*> waiting{};  // runs, until one that is under way is ready
        PoolFigures figures{};

        [[nodiscard]] std::size_t missing() const;
    };
    using ShelfPtr = std::shared_ptr<Shelf>;

    [[nodiscard]] ShelfPtr shelf_of(const runner::Manifest* manifest) const;

    [[nodiscard]] bool fits(const runner::Manifest& manifest,
                            const execution::Limits& limits) const;
    void rest_after_take(const Shelf& shelf);
    Task<void> tend();
    void end_period();
    // Returns when there is something to be done next, if nothing happens before.
    TimePoint order_missing();
    ShelfPtr neediest();
    [[nodiscard]] bool has_room_for(const Shelf& shelf) const;
    // As many as can be made now. While the first zygote starts, none: it makes better ones.
    [[nodiscard]] std::size_t to_be_made(const Shelf& shelf) const;
    Task<void> make(ShelfPtr shelf);
    Task<bool> try_make(ShelfPtr shelf);
    static void wake_next(Shelf& shelf);
    void drop(Shelf& shelf, isolation::JarId id);
    void end_spare(Shelf& shelf);
    void retire(Shelf& shelf);
    void note_loss(Shelf& shelf);

    asio::any_io_executor executor_;
    WardenLink& warden_;
    Options options_;
    const Log& log_;
    approved::PackPtr tools_;
    Zygotes* zygotes_ = nullptr;
    TaskGroup tasks_;
    std::list<ShelfPtr> shelves_;  // tasks share them
    bool tended_ = false;
    std::size_t under_way_ = 0;
    asio::steady_timer wake_;
    TimePoint period_ends_{};
    TimePoint not_before_{};  // no jar is ordered
    Duration pause_;          // after the next loss
    bool closing_ = false;
};

}  // namespace belljar::engine
