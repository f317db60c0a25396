"""Languages that are a manifest and nothing else: what goes in, what comes out, what went wrong."""

import base64
import json

import pytest

from support_binary import environment
from support_mcp import MODERN, modern, request

# What tests can rely on: tools/dev/packages.sh installs them.
INSTALLED = ["bash", "perl", "ruby", "lua", "php", "c", "cpp"]

C_ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words) {
    char line[100] = "";
    FILE *file = fopen("data/in.txt", "r");
    for (int index = 1; index < count; ++index) printf("[%s]", words[index]);
    printf("\n%s\n", getenv("GREETING") ? getenv("GREETING") : "none");
    if (fgets(line, sizeof(line), stdin)) printf("%s", line);
    if (file && fgets(line, sizeof(line), file)) printf("%s", line);
    fprintf(stderr, "to stderr\n");
    return 7;
}
"""

# Each writes its arguments, the variable GREETING, its standard input and a file, and ends with 7.
ECHO = {
    "bash": 'printf "[%s]" "$@"; echo; echo "${GREETING-none}"; cat; cat data/in.txt\n'
            "echo to stderr >&2; exit 7",
    "perl": 'print "[$_]" for @ARGV; print "\\n", $ENV{GREETING} // "none", "\\n";\n'
            'print <STDIN>; open(F, "<", "data/in.txt"); print <F>;\n'
            'print STDERR "to stderr\\n"; exit 7',
    "ruby": 'print ARGV.map { |word| "[#{word}]" }.join, "\\n"\n'
            'puts ENV.fetch("GREETING", "none")\nprint STDIN.read\n'
            'print File.read("data/in.txt")\nwarn "to stderr"\nexit 7',
    "lua": 'for _, word in ipairs(arg) do io.write("[", word, "]") end\n'
           'print("\\n" .. (os.getenv("GREETING") or "none"))\nio.write(io.read("a"))\n'
           'io.write(io.open("data/in.txt"):read("a"))\nio.stderr:write("to stderr\\n")\n'
           "os.exit(7)",
    "php": '<?php foreach (array_slice($argv, 1) as $word) echo "[$word]";\n'
           'echo "\\n", getenv("GREETING") ?: "none", "\\n", stream_get_contents(STDIN),\n'
           'file_get_contents("data/in.txt"); fwrite(STDERR, "to stderr\\n"); exit(7);',
    "c": C_ECHO,
    "cpp": C_ECHO.replace("<stdio.h>", "<cstdio>"),
    "go": 'package main\nimport "os"\nfunc main() {\n'
          'for _, word := range os.Args[1:] { os.Stdout.WriteString("[" + word + "]") }\n'
          'os.Stdout.WriteString("\\n" + os.Getenv("GREETING") + "\\n")\n'
          "buffer := make([]byte, 100)\ncount, _ := os.Stdin.Read(buffer)\n"
          'os.Stdout.Write(buffer[:count])\ntext, _ := os.ReadFile("data/in.txt")\n'
          'os.Stdout.Write(text)\nos.Stderr.WriteString("to stderr\\n")\nos.Exit(7)\n}',
    "java": "import java.nio.file.*;\npublic class Main {\n"
            "public static void main(String[] words) throws Exception {\n"
            'for (String word : words) System.out.print("[" + word + "]");\n'
            'System.out.println("\\n" + System.getenv("GREETING"));\n'
            "System.out.write(System.in.readAllBytes());\n"
            'System.out.print(Files.readString(Path.of("data/in.txt")));\n'
            'System.out.flush(); System.err.println("to stderr"); System.exit(7);\n}\n}',
    "rust": "use std::io::Read;\nfn main() {\n"
            'for word in std::env::args().skip(1) { print!("[{}]", word); }\n'
            'println!("\\n{}", std::env::var("GREETING").unwrap());\n'
            "let mut text = String::new();\nstd::io::stdin().read_to_string(&mut text).unwrap();\n"
            'print!("{}{}", text, std::fs::read_to_string("data/in.txt").unwrap());\n'
            'eprintln!("to stderr"); std::process::exit(7);\n}',
    "r": 'cat(sprintf("[%s]", commandArgs(TRUE)), "\\n", sep = "")\n'
         'cat(Sys.getenv("GREETING"), "\\n", sep = "")\n'
         'cat(readLines(file("stdin")), sep = "\\n"); cat("\\n")\n'
         'cat(readLines("data/in.txt"), sep = "\\n"); cat("\\n")\n'
         'message("to stderr"); quit(status = 7)',
}

BROKEN = {"c": "int main( {", "cpp": "int main() { return x; }"}


def tool_result(server, name):
    message = modern(request(1, "tools/call", name=name, arguments={}))
    answer = server.request("POST", "/mcp", message, {
        "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call", "Mcp-Name": name})
    return answer.json["result"]


def runners_of(server):
    answer = server.request("GET", "/v1/runners")
    assert answer.status == 200, answer
    return {runner["language"]: runner for runner in answer.json["runners"]}


@pytest.fixture(scope="module")
def runners(server):
    return runners_of(server)


@pytest.mark.parametrize("language", INSTALLED)
def test_what_is_installed_is_usable(runners, language):
    runner = runners[language]
    assert runner["usable"] is True, runner
    assert runner["version"][0].isdigit(), runner
    assert "reason" not in runner


def check_echo(server, language):
    record = server.execute(ECHO[language], language=language, args=["a b", "-x", ""],
                            env={"GREETING": "h\u00e9llo"}, stdin="from stdin\n",
                            files={"data/in.txt": "from a file\n"})
    assert record["stdout"] == "[a b][-x][]\nh\u00e9llo\nfrom stdin\nfrom a file\n", record
    assert record["stderr"] == "to stderr\n", record
    assert (record["status"], record["exit_code"]) == ("error", 7)
    assert record["language"] == language


@pytest.mark.parametrize("language", INSTALLED)
def test_arguments_environment_input_and_files(server, language):
    check_echo(server, language)


def test_every_other_language_that_is_usable(server, runners, monkeypatch):
    # Go builds its library anew in every run.
    monkeypatch.setattr("support_server.COMMAND_SECONDS", 280)
    usable = {name for name, runner in runners.items() if runner["usable"]}
    for language in sorted(usable & ECHO.keys() - set(INSTALLED)):
        check_echo(server, language)


def test_an_alias_is_the_language(server):
    record = server.execute("echo hello", language="SH")
    assert (record["language"], record["stdout"], record["status"]) == ("bash", "hello\n", "ok")


def test_a_program_can_start_others_and_write_its_files(server):
    code = "set -e\nmkdir a; echo one > a/b\n(cat a/b; pwd) | tr a-z A-Z"
    assert server.execute(code, language="bash")["stdout"] == "ONE\n/WORKSPACE\n"


def test_a_binary_file_arrives(server):
    content = bytes(range(256))
    record = server.execute("od -An -tx1 -v all | tr -d ' \\n'", language="bash",
                            files={"all": {"base64": base64.b64encode(content).decode()}})
    assert bytes.fromhex(record["stdout"]) == content


def test_a_program_has_no_descriptor_but_its_streams(server):
    assert server.execute("ls /proc/self/fd", language="bash")["stdout"] == "0\n1\n2\n3\n"
    record = server.execute("echo '{\"result\": 1}' >&5", language="bash")
    assert record["exit_code"] == 1 and record["result"] is None


def test_a_signal_is_told(server):
    record = server.execute("kill -SEGV $$", language="bash")
    assert (record["status"], record["signal"]) == ("killed", 11)


def test_time_runs_out(server):
    record = server.execute("echo begun; sleep 60", language="bash", timeout=1)
    assert (record["status"], record["stdout"]) == ("timeout", "begun\n")


def test_a_file_that_would_leave_the_workspace_is_refused(server):
    answer = server.request("POST", "/execute", {"code": "1", "language": "bash",
                                                 "files": {"../x": ""}})
    assert answer.status == 400


@pytest.mark.parametrize("language", sorted(BROKEN))
def test_a_compile_error_is_a_result(server, language):
    record = server.execute(BROKEN[language], language=language)
    assert (record["status"], record["exit_code"]) == ("error", 1)
    assert record["error"]["type"] == "CompileError"
    assert "error:" in record["error"]["message"]
    assert f"main.{language}:1:" in record["error"]["traceback"]
    assert f"main.{language}:1:" in record["stderr"] and record["stdout"] == ""


def test_warnings_of_a_compiler_are_not_output(server):
    record = server.execute("int main() { int unused; }", language="c")
    assert (record["status"], record["stdout"], record["stderr"]) == ("ok", "", "")


def test_a_compiler_runs_out_of_time(own_server, place):
    folder = place / "runners"
    folder.mkdir(mode=0o755)
    manifest = folder / "slow.toml"
    manifest.write_text('language = "slow"\nversion = ["/bin/sh", "-c", "echo 1.0"]\n'
                        'file = "main.sh"\ncommand = ["/bin/sh", "{file}"]\n[compile]\n'
                        'command = ["/bin/sh", "-c", "echo working; sleep 100"]\n'
                        'timeout = "500ms"\n')
    manifest.chmod(0o644)
    server = own_server(env=environment(BELLJAR_RUNNERS_PATH=str(folder)))
    record = server.execute("echo ran", language="slow")
    assert (record["status"], record["exit_code"], record["stdout"]) == ("error", 1, "")
    assert record["error"]["message"] == "the compiler did not end within 0.5 seconds"
    assert record["error"]["traceback"] == "working\n"


def test_imports_cannot_be_checked_in_other_languages(server):
    answer = server.request("POST", "/execute", {"code": "1", "language": "bash",
                                                 "allowed_imports": []})
    assert answer.status == 400 and "allowed_imports" in answer.json["error"]


def test_a_language_that_is_not_there_is_explained(own_server, place):
    folder = place / "runners"
    folder.mkdir(mode=0o755)
    for name, program in (("absent", "/usr/bin/no-such-program"), ("broken", "/usr/bin/false")):
        manifest = folder / f"{name}.toml"
        manifest.write_text(f'language = "{name}"\nversion = ["{program}"]\nfile = "x"\n'
                            f'command = ["{program}"]\n')
        manifest.chmod(0o644)
    server = own_server(env=environment(BELLJAR_RUNNERS_PATH=str(folder)))
    runners = runners_of(server)
    assert runners["absent"]["usable"] is False
    assert runners["absent"]["reason"] == \
        "absent is not installed: no /usr/bin/no-such-program exists"
    assert runners["broken"]["usable"] is False
    assert "exit code 1" in runners["broken"]["reason"] or \
        "status error" in runners["broken"]["reason"]
    for name in ("absent", "broken", "cobol"):
        answer = server.request("POST", "/execute", {"code": "1", "language": name})
        assert answer.status == 422, answer
        assert "bash" in answer.json["error"] and "python" in answer.json["error"]
        usable = answer.json["error"].split("usable")[1]
        assert "absent" not in usable and "broken" not in usable
    info = tool_result(server, "get_sandbox_info")["structuredContent"]
    languages = [language["language"] for language in info["languages"]]
    assert "bash" in languages and not {"absent", "broken"} & set(languages)


def test_runners_say_what_they_are(own_server):
    runners = runners_of(own_server(env=environment(BELLJAR_POOL_READY="1")))
    assert runners["python"]["kind"] == "zygote"
    assert runners["bash"]["kind"] == "pool"
    assert runners["java"]["kind"] == "started"
    assert runners["cpp"]["aliases"] == ["c++", "cxx"]
    assert runners["cpp"]["limits"]["timeout_seconds"] == 60


@pytest.mark.parametrize("name", ["list_runners", "sandbox.list_runners"])
def test_the_tool_says_the_same(server, runners, name):
    result = tool_result(server, name)
    languages = {entry["language"]: entry for entry in result["structuredContent"]["languages"]}
    assert languages.keys() == {name for name, one in runners.items() if one["usable"]}
    assert languages["bash"]["image"] == runners["bash"]["runner"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_more_than_reading_is_refused(server):
    assert server.request("POST", "/v1/runners", {}).status == 405
    assert server.request("GET", "/v1/runners", token=False).status == 401
