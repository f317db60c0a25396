#include "mcp/tasks.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/id.h"

namespace belljar::mcp {
namespace {

using std::chrono::system_clock;

std::string_view name_of(BackgroundTask::Status status) {
    switch (status) {
        case BackgroundTask::Status::Working:
            return "working";
        case BackgroundTask::Status::InputRequired:
            return "input_required";
        case BackgroundTask::Status::Completed:
            return "completed";
        case BackgroundTask::Status::Failed:
            return "failed";
        case BackgroundTask::Status::Cancelled:
            return "cancelled";
    }
    return "failed";
}

std::string format_time(system_clock::time_point time) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - whole);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(whole)),
                       rest.count());
}

std::size_t room_of(const json::object& object);

std::size_t room_of(const json::value& value) {
    std::size_t bytes = sizeof(value);
    if (const json::string* text = value.if_string()) {
        bytes += text->size();
    } else if (const json::array* array = value.if_array()) {
        for (const json::value& element : *array) {
            bytes += room_of(element);
        }
    } else if (const json::object* object = value.if_object()) {
        bytes += room_of(*object);
    }
    return bytes;
}

std::size_t room_of(const json::object& object) {
    std::size_t bytes = 0;
    for (const json::key_value_pair& member : object) {
        bytes += member.key().size() + room_of(member.value());
    }
    return bytes;
}

struct RoomOfContent {
    std::size_t operator()(const std::string& text) const { return text.size(); }
    std::size_t operator()(const ResourceLink& link) const {
        return link.uri.size() + link.name.size();
    }
    std::size_t operator()(const auto& content) const { return content.data.size(); }
};

std::size_t room_of(const ToolOutcome& outcome) {
    std::size_t bytes = outcome.text.size();
    for (const Content& content : outcome.more) {
        bytes += sizeof(content) + std::visit(RoomOfContent{}, content);
    }
    return bytes + (outcome.structured ? room_of(*outcome.structured) : 0);
}

}  // namespace

BackgroundTask::BackgroundTask(const asio::any_io_executor& executor, std::string principal)
    : id_(random_hex(24)),
      principal_(std::move(principal)),
      created_(system_clock::now()),
      updated_(created_),
      changed_(executor, Tasks::kLifetime) {}

bool BackgroundTask::is_over() const {
    return status_ != Status::Working && status_ != Status::InputRequired;
}

json::object BackgroundTask::describe() const {
    return {{"taskId", id_},
            {"status", name_of(status_)},
            {"createdAt", format_time(created_)},
            {"lastUpdatedAt", format_time(updated_)},
            {"ttlMs", std::chrono::milliseconds(Tasks::kLifetime).count()},
            {"pollIntervalMs", std::chrono::milliseconds(Tasks::kPollInterval).count()}};
}

RpcResult<BackgroundTaskPtr> Tasks::begin(Asker asker, Work work) {
    end_old();
    make_room(asker.principal, 0);
    const auto mine = std::ranges::count_if(tasks_, [&asker](const auto& entry) {
        return !entry.second->is_over() && entry.second->principal() == asker.principal;
    });
    if (tasks_.size() >= kMost || static_cast<std::size_t>(mine) >= kMostEach) {
        return rpc_fail(RpcCode::InternalError,
                        "There are too many tasks under way; wait for some of them to end.");
    }
    const auto task = std::make_shared<BackgroundTask>(executor_, asker.principal);
    // Nothing is told on the way of a request that has been answered.
    asker.notify = nullptr;
    asker.wishes = {.revision = asker.wishes.revision};
    if (!running_.spawn("task", carry_out(task, std::move(asker), std::move(work)))) {
        return rpc_fail(RpcCode::InternalError, "The server is stopping.");
    }
    tasks_.emplace(task->id(), task);
    return task;
}

BackgroundTaskPtr Tasks::find(const std::string& principal, const std::string& id) {
    end_old();
    const auto found = tasks_.find(id);
    return found != tasks_.end() && found->second->principal() == principal ? found->second
                                                                            : nullptr;
}

void Tasks::cancel(const BackgroundTaskPtr& task) {
    if (task->is_over()) {
        return;
    }
    enter(task, BackgroundTask::Status::Cancelled);
    task->cancellation_->request();
}

void Tasks::give(const BackgroundTaskPtr& task, const json::object& inputs) {
    if (task->status_ != BackgroundTask::Status::InputRequired) {
        return;
    }
    for (const json::key_value_pair& input : inputs) {
        if (task->needed_.requests.erase(input.key()) > 0) {
            task->inputs_[input.key()] = input.value();
        }
    }
    task->changed_.cancel();
}

void Tasks::forget(const BackgroundTaskPtr& task) {
    if (tasks_.erase(task->id()) > 0) {
        bytes_ -= task->bytes_;
    }
}

Task<void> Tasks::wait(BackgroundTaskPtr task, std::chrono::milliseconds patience,
                       engine::CancellationPtr cancellation) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const auto timer = std::make_shared<asio::steady_timer>(task->changed_.get_executor());
    cancellation->on_request([task] { task->changed_.cancel(); });
    while (task->status_ == BackgroundTask::Status::Working && !cancellation->requested() &&
           std::chrono::steady_clock::now() < deadline) {
        // One clock for each who waits: the common one knows no deadline.
        timer->expires_at(deadline);
        timer->async_wait([task](const boost::system::error_code& error) {
            if (!error) {
                task->changed_.cancel();
            }
        });
        boost::system::error_code ignored;
        co_await task->changed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    timer->cancel();
    cancellation->on_request(nullptr);
}

void Tasks::stop() {
    running_.close();
    const auto tasks = tasks_;
    for (const auto& [id, task] : tasks) {
        cancel(task);
    }
}

Task<void> Tasks::wait_for_end(asio::steady_timer::time_point deadline) {
    co_await running_.wait(deadline);
}

// A task that nobody ends would be asked for until its time is up.
Task<RpcResult<Round<ToolOutcome>>> Tasks::work_once(Work work, Asker asker,
                                                     engine::CancellationPtr stop) {
    try {
        RpcResult<Round<ToolOutcome>> answer = co_await work(std::move(asker), std::move(stop));
        co_return answer;
    } catch (const std::exception& error) {
        log_.error("a task came to no end", {{"reason", error.what()}});
    } catch (...) {
        log_.error("a task came to no end");
    }
    co_return std::unexpected(own_fault());
}

Task<void> Tasks::carry_out(BackgroundTaskPtr task, Asker asker, Work work) {
    for (int round = 0; round < Rounds::kMost; ++round) {
        RpcResult<Round<ToolOutcome>> answer = co_await work_once(work, asker, task->cancellation_);
        if (task->is_over()) {
            co_return;  // cancelled
        }
        if (!answer) {
            task->error_ = std::move(answer.error());
            enter(task, BackgroundTask::Status::Failed);
            co_return;
        }
        if (ToolOutcome* outcome = std::get_if<ToolOutcome>(&*answer)) {
            finish(task, std::move(*outcome));
            co_return;
        }
        task->needed_ = std::move(std::get<InputNeeded>(*answer));
        task->error_ = Rounds::find_fault(asker.capabilities, task->needed_);
        enter(task, task->error_ ? BackgroundTask::Status::Failed
                                 : BackgroundTask::Status::InputRequired);
        if (!task->error_) {
            co_await await_inputs(task);
        }
        if (task->is_over()) {
            co_return;
        }
        asker.inputs = std::exchange(task->inputs_, {});
        asker.state = std::exchange(task->needed_, {}).state;
        enter(task, BackgroundTask::Status::Working);
    }
    task->error_ = RpcError{.message = "The client was asked too often."};
    enter(task, BackgroundTask::Status::Failed);
}

Task<void> Tasks::await_inputs(BackgroundTaskPtr task) {
    while (!task->is_over() && !task->needed_.requests.empty()) {
        boost::system::error_code woken;
        co_await task->changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
        if (!woken) {
            cancel(task);  // it has lived its time
        }
    }
}

void Tasks::enter(const BackgroundTaskPtr& task, BackgroundTask::Status status) {
    task->status_ = status;
    task->updated_ = system_clock::now();
    task->changed_.cancel();
    changes_.tell({.kind = Change::Kind::Task, .name = task->id(), .principal = task->principal()});
}

void Tasks::finish(const BackgroundTaskPtr& task, ToolOutcome outcome) {
    const std::size_t bytes = room_of(outcome);
    make_room(task->principal(), bytes);
    if (tasks_.contains(task->id())) {
        task->bytes_ = bytes;
        bytes_ += bytes;
    }
    task->outcome_ = std::move(outcome);
    enter(task, BackgroundTask::Status::Completed);
}

// What has lived its time goes; one that still runs is ended.
void Tasks::end_old() {
    const auto now = system_clock::now();
    const auto tasks = tasks_;
    for (const auto& [id, task] : tasks) {
        if (now - task->created_ > kLifetime) {
            cancel(task);
            forget(task);
        }
    }
}

// For one more task of the principal, or for an outcome of one that it has.
void Tasks::make_room(const std::string& principal, std::size_t bytes) {
    std::vector<BackgroundTaskPtr> over;
    for (const auto& [id, task] : tasks_) {
        if (task->is_over()) {
            over.push_back(task);
        }
    }
    std::ranges::sort(over, {}, [&principal](const BackgroundTaskPtr& task) {
        return std::pair(task->principal() != principal, task->updated_);
    });
    for (const BackgroundTaskPtr& task : over) {
        if (tasks_.size() < kMost && bytes_ + bytes <= kMostBytes) {
            break;
        }
        forget(task);
    }
}

}  // namespace belljar::mcp
