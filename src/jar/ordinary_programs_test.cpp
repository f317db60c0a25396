// What people run must not notice the filter.
#include <gtest/gtest.h>
#include <unistd.h>

#include "jar/syscall_table.h"
#include "jar/testing/filtered_child.h"

namespace belljar::jar {
namespace {

constexpr FilterOptions kOptions{.on_refusal = OnRefusal::Notify, .reach = Reach::OwnNamespaces};

constexpr const char* kNode = "/usr/bin/node";

// Runs the program, which must succeed without one refusal.
void expect_untroubled(const char* program, const char* option, const char* code) {
    FilteredChild child(kOptions, [&] {
        // Not the directory of the build, which others may not enter.
        if (::chdir("/tmp") != 0) {
            return 126;
        }
        const std::array<const char*, 4> arguments{program, option, code, nullptr};
        const std::array<const char*, 3> environment{"PATH=/usr/bin:/bin", "HOME=/tmp", nullptr};
        ::execve(program, const_cast<char* const*>(arguments.data()),
                 const_cast<char* const*>(environment.data()));
        return 127;
    });
    DenialWatch watch = child.watch();
    const int status = child.serve(watch, [](const DenialRecord& record) {
        ADD_FAILURE() << "refused " << syscall_name(record.number) << " " << record.key;
    });
    EXPECT_EQ(status, 0) << code;
}

void expect_python(const char* code) { expect_untroubled("/usr/bin/python3", "-c", code); }

TEST(OrdinaryPrograms, PythonThreads) {
    expect_python(R"(
import threading
seen = []
threads = [threading.Thread(target=seen.append, args=(n,)) for n in range(32)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert sorted(seen) == list(range(32))
)");
}

TEST(OrdinaryPrograms, PythonProcesses) {
    expect_python(R"(
import multiprocessing, subprocess, concurrent.futures
from multiprocessing import shared_memory
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]
with multiprocessing.Manager() as manager:
    assert list(manager.list([1, 2])) == [1, 2]
block = shared_memory.SharedMemory(create=True, size=64)
block.close(); block.unlink()
shell = subprocess.run('seq 9 | sort -r | head -1', shell=True, capture_output=True, check=True)
assert shell.stdout == b'9\n'
)");
}

TEST(OrdinaryPrograms, PythonAsyncio) {
    expect_python(R"(
import asyncio, socket
async def main():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    assert await reader.read() == b''
    writer.close()
    server.close()
    process = await asyncio.create_subprocess_exec('echo', 'x', stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b'x\n'
asyncio.run(main())
assert socket.if_nameindex()
left, right = socket.socketpair()
left.send(b'x'); assert right.recv(1) == b'x'
)");
}

TEST(OrdinaryPrograms, PythonFilesAndLibraries) {
    expect_python(R"(
import ctypes, fcntl, mmap, os, pty, resource, select, shutil, sqlite3, tempfile
with tempfile.TemporaryDirectory() as folder:
    with sqlite3.connect(folder + '/db') as database:
        database.execute('pragma journal_mode=wal')
        database.execute('create table t(x)')
        database.execute('insert into t values (1)')
    with open(folder + '/a', 'wb') as file:
        file.write(b'x' * 100000); file.flush(); os.fsync(file)
        fcntl.flock(file, fcntl.LOCK_EX)
    shutil.copy(folder + '/a', folder + '/b')
    os.mkfifo(folder + '/fifo')
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 3)(3, 1, 2)
ctypes.CDLL(None).qsort(numbers, 3, 4, kind(lambda a, b: a[0] - b[0]))
assert list(numbers) == [1, 2, 3]
resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
os.setuid(os.getuid()); os.nice(1); os.sync(); os.memfd_create('m'); os.eventfd(0)
os.sched_setaffinity(0, os.sched_getaffinity(0))
select.epoll(); mmap.mmap(-1, 4096)
child, terminal = pty.fork()
if child == 0: os._exit(0)
os.waitpid(child, 0)
)");
}

TEST(OrdinaryPrograms, PythonNumbersIfInstalled) {
    expect_python(R"(
import importlib.util
if importlib.util.find_spec('numpy'):
    import numpy
    square = numpy.random.rand(200, 200)
    numpy.linalg.svd(square @ square)
if importlib.util.find_spec('pandas'):
    import pandas
    assert pandas.DataFrame({'a': [1, 1], 'b': [2, 3]}).groupby('a').sum().b[1] == 5
)");
}

TEST(OrdinaryPrograms, ShellPipelines) {
    expect_untroubled("/bin/bash", "-ec", R"(
diff <(seq 5) <(seq 5); seq 100 | awk '{s += $1} END {exit s != 5050}'
folder=$(mktemp -d); cd "$folder"; seq 1000 > a; cp a b; tar cf - a b | gzip | tar xzf - -O > c
test $(wc -l < c) = 2000; sync; flock a true; setsid true; timeout 5 nice true; rm -r "$folder"
)");
}

TEST(OrdinaryPrograms, Node) {
    if (::access(kNode, X_OK) != 0) {
        GTEST_SKIP() << "there is no node";
    }
    expect_untroubled(kNode, "-e", R"(
const {Worker} = require('worker_threads');
const assert = require('assert'), os = require('os'), net = require('net');
assert(os.cpus().length > 0 && os.networkInterfaces().lo);
assert.equal(require('child_process').execSync('echo x | cat').toString(), 'x\n');
require('crypto').scrypt('a', 'b', 32, assert.ifError);
require('fs').watch('/tmp').close();
const worker = new Worker('require("worker_threads").parentPort.postMessage(42)', {eval: true});
worker.on('message', (answer) => {
    assert.equal(answer, 42);
    const server = net.createServer((socket) => socket.end('bye')).listen(0, '127.0.0.1', () => {
        net.connect(server.address().port, '127.0.0.1').on('data', () => server.close());
    });
});
)");
}

}  // namespace
}  // namespace belljar::jar
