// Makes a zygote of a Python interpreter: `serve(strangers)` returns in every guest, and never in
// the interpreter that called it. `strangers` says whether modules want to know of forks.
// `gather()` comes before the first import: from then on objects are placed where their memory can
// be had in large pages.

#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "jar/guest.h"
#include "jar/zygote.h"
#include "large_pages.h"
#include "large_rest.h"
#include "large_text.h"
#include "own_memory.h"

namespace {

namespace jar = belljar::jar;
namespace zygote = belljar::zygote;

PyObject* gather(PyObject*, PyObject*) {
    zygote::gather_arenas();
    Py_RETURN_NONE;
}

// Whether the interpreter has to tell modules of a fork.
enum class Listeners { None, Some };

// What is the same for all guests.
struct Preparation {
    Listeners listeners;
    std::vector<sock_filter> filter;
};

// The child is the warden's. It comes back once it is a guest like any other. An interpreter with
// one thread is in the child what it was before: only for modules that want to know of it, it is
// told, which takes a guest a millisecond, since it touches memory all over.
bool fork_one(const jar::GuestOrder& order, const Preparation& preparation,
              jar::OrderAnswer& answer) {
    const Listeners listeners = preparation.listeners;
    if (listeners == Listeners::Some) {
        PyOS_BeforeFork();
    }
    const belljar::Result<pid_t> child = jar::fork_guest(order);
    if (child && *child == 0) {
        jar::enter_jar(order, preparation.filter);
        if (listeners == Listeners::Some) {
            PyOS_AfterFork_Child();
        }
        return true;
    }
    if (listeners == Listeners::Some) {
        PyOS_AfterFork_Parent();
    }
    answer.child = child.value_or(0);
    answer.sys_errno = child ? 0 : child.error().sys_errno;
    return false;
}

PyObject* serve(PyObject*, PyObject* strangers) {
    const Preparation preparation{
        .listeners = PyObject_IsTrue(strangers) == 0 ? Listeners::None : Listeners::Some,
        .filter = jar::make_guest_filter(jar::Mode::Root)};
    belljar::Fd warden(jar::kZygoteControl);
    belljar::Fd process(jar::kZygoteProcess);
    // Guests that look for their siblings' parent find nothing to read.
    if (::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) != 0) {
        ::_exit(1);
    }
    zygote::use_large_pages();
    zygote::use_large_pages_for_text();
    zygote::use_large_pages_for_rest(process);
    process.reset();
    jar::OrderAnswer answer{};
    while (jar::send_answer(warden, answer)) {
        const zygote::MemoryMark mark;
        belljar::Result<jar::GuestOrder> order = jar::receive_order(warden);
        if (!order) {
            break;
        }
        answer = {.jar = order->jar, .child = 0, .sys_errno = 0};
        if (fork_one(*order, preparation, answer)) {
            // The number is now that of a descriptor of the guest's.
            [[maybe_unused]] const int replaced = warden.release();
            Py_RETURN_NONE;
        }
    }
    ::_exit(0);  // the warden is gone
}

PyMethodDef functions[] = {{"gather", gather, METH_NOARGS, nullptr},
                           {"serve", serve, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                          .m_name = "belljar_zygote",
                          .m_doc = nullptr,
                          .m_size = -1,
                          .m_methods = functions,
                          .m_slots = nullptr,
                          .m_traverse = nullptr,
                          .m_clear = nullptr,
                          .m_free = nullptr};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the interpreter looks for this name
PyMODINIT_FUNC PyInit_belljar_zygote() { return PyModule_Create(&definition); }
