#include "policy/file_use.h"

#include <gtest/gtest.h>

namespace belljar::policy {
namespace {

TEST(FileUse, ProgramsThatOnlyComputeUseNoFiles) {
    for (const char* code : {
             "",
             "print('hello 1')",
             "6 * 7",
             "total = 0\nfor i in range(10):\n    total += i * i\nprint(f'{total:.2f}')",
             "import math\nprint(math.sqrt(2))",
             "import math, json as j\nprint(j.dumps({'a': math.pi}))",
             "from collections import Counter, defaultdict\nprint(Counter('abc'))",
             "from random import (\n    choice,\n    sample)\nprint(choice([1, 2]))",
             "import re; print(re.findall('[a-z]+', 'a b'))",
             "class A:\n    def f(self):\n        import statistics\n        return 1\nA().f()",
             "print(input())",
         }) {
        EXPECT_TRUE(uses_no_files(code)) << code;
    }
}

// In wide letters, which the interpreter takes for "open".
constexpr const char* kWideOpen = "\xef\xbd\x8f\xef\xbd\x90\xef\xbd\x85\xef\xbd\x8e('x', 'w')";

// The last one is not understood, and so it is a way.
TEST(FileUse, WhateverMayLeadToAFileIsAWay) {
    for (const char* code : {
             "open('x', 'w').write('y')",
             "f = open\nf('x')",
             "import os\nos.mkdir('x')",
             "import json, os",
             "import json as os",
             "from os import mkdir",
             "from random import _os",
             "import random\nrandom._os.mkdir('x')",
             "import json\njson.codecs.open('x', 'w')",
             "import json.tool",
             "import numpy as np",
             "import",
             "from . import x",
             "from json import x; import shelve",
             "if True: import sqlite3",
             "x = 1\rimport sqlite3",
             "__import__('os')",
             "print.__self__",
             "exec('x')",
             "eval('1')",
             "getattr(print, 'x')",
             "vars()",
             "globals()['x']",
             "breakpoint()",
             "help()",
             "(i for i in [1]).gi_frame.f_builtins['op' + 'en']",
             "import operator\noperator.attrgetter('a.b')",
             "import \\\n os",
             kWideOpen,
             // reads: open
             "print('this is important')",
         }) {
        EXPECT_FALSE(uses_no_files(code)) << code;
    }
}

TEST(FileUse, ABrokenOrHugeProgramIsNoProblem) {
    EXPECT_FALSE(uses_no_files(std::string_view("print(1)\0", 9)));
    EXPECT_TRUE(uses_no_files(std::string(1'000'000, '(')));
    EXPECT_TRUE(uses_no_files(std::string(1'000'000, ';')));
    EXPECT_TRUE(uses_no_files(std::string(1'000'000, 'a')));
}

}  // namespace
}  // namespace belljar::policy
