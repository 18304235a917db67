/** Which names a file defines, by language, and that no text takes more than linear time. */
import { expect, test } from "bun:test";
import { definitionsIn, NAME_BYTES_MAX } from "../../../src/repo/chunks/definitions.ts";

/** `language: text with the names in « »`: a marked name is found in its line, and no other name is. */
const SAMPLES: [string, string][] = [
  [
    "python",
    "import os\n\nclass «Http»(Base):\n    «LIMIT» = 3\n    @property\n    async def «fetch»(self):\n        count = 1\n",
  ],
  ["python", "«timeout»: int = 3\n«_Alias» = dict[str, int]\nif timeout == 3:\n    x = 2\ntimeout.x = 4\n"],
  ["python", 'def «a»():\n    """\nclass InText:\n    """\n    return """x"""\ndef «b»(): pass\n'],
  ["python", "def «match»(\n    self,\n    x: int,\n) -> bool:\n    if (x):\n        pass\n"],
  [
    "javascript",
    "const fs = require('fs')\nexport const «limit» = 3\nexport default async function* «walk»(a) {\n  const local = 3\n  const «inner» = async (x) => {}\n  if (local) {\n  }\n  call(() => {\n  })\n}\n",
  ],
  [
    "javascript",
    "class «Cache» extends Map {\n  static async «load»(\n    path,\n    { deep = true } = {},\n  ) {\n    switch (path) {\n    }\n  }\n  get «size»() {\n  }\n  #«hidden»() {}\n  constructor() {}\n}\n",
  ],
  [
    "javascript",
    "module.exports.«parse» = parse\nFoo.prototype.«run» = function () {\n}\nconst «api» = {\n  «get»: async (url) => {\n  },\n  «post»(url) {\n  },\n  other: 3,\n}\nit('does', () => {\n  foo(a, b)\n})\n",
  ],
  [
    "typescript",
    "export abstract class «Store»<T> {\n  @Input() «onChange» = (x: T): void => {\n  }\n  protected abstract «read»(path: string): Promise<T>;\n  private async «write»<K extends keyof T>(\n    key: K,\n    value: T[K],\n  ): Promise<void> {\n    await this.flush(key)\n    return foo(value)\n  }\n}\n",
  ],
  [
    "typescript",
    "export interface «Options» {\n  name: string\n  «close»(): void\n}\nexport type «Kind» = 'a' | 'b'\ndeclare const enum «Level» { A }\nexport const «make» = <T,>(x: T) => x\ntype = 3\n",
  ],
  [
    "vue",
    '<template>\n  <!--\n  function no() {\n  -->\n</template>\n<script setup lang="ts">\nconst «count» = ref(0)\nfunction «add»() {\n}\n</script>\n',
  ],
  [
    "go",
    "package main\n\nfunc (s *Server) «Listen»(addr string) error {\n\tx := 1\n\tif (x) {\n\t}\n}\nfunc «Map»[T any](x T) {}\ntype «Handler» interface {\n\t«Serve»(w Writer)\n}\nconst (\n\t«A» = iota\n\t«B», «C» = 1, 2\n)\nvar «ErrX», «ErrY» error\ntype (\n\t«Point» struct {\n\t\tX int\n\t}\n)\n",
  ],
  [
    "rust",
    '#[derive(Debug)]\npub(crate) struct «Task»<T> {\n}\nimpl<T> Task<T> {\n    pub const unsafe fn «new»(x: T) -> Self {\n        let y = call(x);\n    }\n}\n#[inline] pub async fn «run»() {}\nmacro_rules! «ready» {\n}\npub const «MAX»: usize = 3;\nmod gone;\nmod «tests» {\n}\nextern "C" fn «raw»() {}\n',
  ],
  [
    "c",
    "#include <x.h>\n#define «LIMIT» 3\nint prototype(int a);\nstatic const char *«names»[] = {\n};\nint «add»(int a,\n        int b)\n{\n    if (a) {\n    }\n    list_for_each(a, b) {\n    }\n    return call(a);\n}\n\nstatic struct item *\n«gnu_style» (void)\n{\n}\ntypedef struct «item» {\n  int a;\n} «item_t»;\ntypedef int (*«callback»)(int);\nenum «kind» {\n  «KIND_A» = 1,\n  «KIND_B»\n};\nEXPORT(int) «api»(void) {\n}\nTEST(a, b) {\n}\n",
  ],
  [
    "cpp",
    "namespace «fmt» {\ntemplate <typename T>\nclass «Buffer» final : public Base<T> {\n public:\n  Buffer(int a);\n  virtual void «push»(const T& x) const noexcept override {\n    std::move(x);\n  }\n};\nusing «View» = int;\nauto Buffer::«size»() const -> size_t {\n}\n}\n",
  ],
  [
    "java",
    'package a.b;\n\n@Service("x") public final class «Users» {\n    private static final int «LIMIT» = 3;\n    @Override public <T> List<T> «find»(String a,\n            int b) throws IOException {\n        return call(a);\n    }\n    void «plain»() {\n        foo(1);\n        new Thread(x) {\n        };\n        if (x) {\n        }\n    }\n}\ninterface «Repo» {\n    User «byName»(String name);\n}\n',
  ],
  [
    "csharp",
    'namespace A.«B»\n{\n    public sealed class «Users» : Base\n    {\n        public int «Count» { get; set; }\n        [Fact] public async Task<int> «Load»(int a) => a;\n        private const string «Name» = "x";\n        void «Run»()\n        {\n            foreach (var x in y)\n            {\n            }\n        }\n    }\n}\n',
  ],
  [
    "kotlin",
    "data class «User»(val name: String)\ninterface «Repo» {\n    suspend fun <T> List<T>.«second»(): T\n    override fun `«reads a user»`() {}\n}\nconst val «MAX» = 3\nobject «Single»\nfun «main»() {\n    val x = 1\n}\n",
  ],
  [
    "swift",
    "public final class «View»: Base {\n    @objc private func «tap»(_ x: Int) {\n        let y = 1\n    }\n    static let «shared» = View()\n}\nextension View {}\nprotocol «P» {}\n",
  ],
  [
    "scala",
    "sealed trait «Shape»\nfinal case class «Circle»(r: Double) extends Shape {\n  override def «area»: Double = 1\n  val x = 1\n}\nobject «Main» extends App\n",
  ],
  [
    "ruby",
    "module A\n".replace("A", "«A»") +
      "  class B::«C» < D\n    LIMIT = 3\n".replace("LIMIT", "«LIMIT»") +
      "    attr_reader :«name», :«size»\n    def self.«build»(x)\n      y = 1\n    end\n    private def «empty?»\n    end\n  end\nend\n",
  ],
  [
    "php",
    "<?php\nfinal class «Users» extends Base {\n    public const «MAX» = 3;\n    #[Route('/')] public static function «find»(int $id): ?User {\n        foo($id);\n    }\n}\nfunction &«ref»() {}\n",
  ],
  [
    "lua",
    "local function «one»(x) end\nfunction M.«two»() end\nM.«three» = function() end\n--[[\nfunction no() end\n]]\n",
  ],
  ["perl", "package My::Pkg;\n".replace("My::Pkg", "«My::Pkg»") + "sub «run» {\n}\n=head1 NAME\nsub no {\n=cut\n"],
  [
    "elixir",
    'defmodule App.«Router» do\n  @doc """\n  def no\n  """\n  def «call»(x), do: x\n  def call(y), do: y\n  defp «valid?»(x) do\n  end\nend\n',
  ],
  ["erlang", "-module(«srv»).\n-record(«state», {}).\n«init»([]) ->\n    call(x).\n"],
  ["haskell", "module «Data.Thing» where\ndata «Tree» a = Leaf\n«insert» :: Int -> Tree\ninsert x = x\n"],
  ["ocaml", "let rec «fold» f = f\ntype 'a «tree» = Leaf\nmodule «M» = struct\nend\n"],
  ["clojure", "(ns «app.core»)\n(defn- «run» [x] x)\n(def ^:private «limit» 3)\n(foo bar)\n"],
  ["lisp", "(defun «my-fun» (x)\n  (setq y 1))\n(define («f» x) x)\n"],
  [
    "zig",
    'const std = @import("std");\npub fn «run»() void {\n    const x = 1;\n}\npub const «Point» = struct {\n};\n',
  ],
  [
    "dart",
    "abstract class «Shape» {\n  Future<int> «area»(int x) async {\n    return call(x);\n  }\n  int get «size» => 1;\n}\n",
  ],
  ["julia", "struct «P»\nend\nfunction «run»(x)\nend\n«area»(p::P) = 1\nconst «MAX» = 3\n"],
  ["r", "«f» <- function(x) {\n  y <- 1\n}\n"],
  ["shell", "«LIMIT»=3\n«build»() {\n  local x=1\n}\nfunction «run» {\n}\nbuild x\n"],
  ["powershell", "function «Get-Thing» {\n}\n"],
  [
    "sql",
    "CREATE TABLE IF NOT EXISTS public.«users» (\n  id int\n);\ncreate or replace function «total»(x int) returns int\n",
  ],
  ["proto", "message «User» {\n  string name = 1;\n}\nservice «Users» {\n  rpc «Find»(A) returns (B);\n}\n"],
  ["graphql", "type «User» implements Node {\n  id: ID\n}\n"],
  ["hcl", 'resource "aws_instance" "«web»" {\n}\nvariable "«size»" {}\n'],
  ["makefile", "«CFLAGS» += -O2\n«build/x.o»: x.c\n\tcc x.c\n"],
  ["objc", "@interface «View» : NSObject\n- (void)prototype:(int)x;\n@end\n- (void)«tap»:(id)sender {\n}\n"],
  ["markdown", "# class Foo\ndef foo():\n"],
  ["nothing known", "class Foo\n"],
];

for (const [language, marked] of SAMPLES) {
  test(`${language}: ${marked.replace(/[«»]/g, "").split("\n")[0]}`, () => {
    const expected: { name: string; line: number }[] = [];
    for (const [at, line] of marked.split("\n").entries()) {
      for (const [, name] of line.matchAll(/«([^»]+)»/g)) expected.push({ name: name!, line: at + 1 });
    }
    const text = marked.replace(/[«»]/g, "");
    expect(definitionsIn(text, language)).toEqual(expected);
    expect(definitionsIn(text.replaceAll("\n", "\r\n"), language)).toEqual(expected);
  });
}

test("a name is up to 256 bytes long", () => {
  const [fits, long] = ["a".repeat(NAME_BYTES_MAX), "b".repeat(NAME_BYTES_MAX + 1)];
  expect(
    definitionsIn(`def ${fits}():\ndef ${long}():\ndef ${"ä".repeat(NAME_BYTES_MAX / 2 + 1)}():\n`, "python"),
  ).toEqual([{ name: fits, line: 1 }]);
});

/** Anything worse than linear in 256 KB would take from minutes to hours, and the time of a test ends it. */
const UNITS = [
  " ",
  "(",
  "a ",
  "async ",
  "a(\n",
  "a (x\n",
  "<",
  "<a,",
  "a.",
  "a::",
  "/*\n",
  "*/",
  '"""\n',
  '"""',
  "{-",
  "@a(",
  "#[",
  "\n",
  "x=",
  "const a=(\n",
  "static int f(int a,\n",
  "  foo(bar,\n",
  "template <",
  "[[",
  "typedef a ",
  "def ",
  "type A ",
  "a, ",
  "'",
  "\\",
  "\t\n",
  "é",
  `int f() ${"A".repeat(200)}\n`,
  `int f() ${"A ".repeat(100)}\n`,
  `int f() ${"const ".repeat(40)}\n`,
  `static final ${"a ".repeat(140)}\n`,
  `a${" ".repeat(300)}b\n`,
];
const LANGUAGES =
  "python javascript typescript vue go rust c cpp objc java csharp kotlin swift scala ruby php lua perl elixir erlang " +
  "haskell ocaml fsharp clojure zig nim dart julia r shell powershell sql proto graphql hcl makefile vim verilog ada vb";

for (const language of LANGUAGES.split(" ")) {
  test(`hostile texts in ${language}`, () => {
    for (const unit of UNITS) definitionsIn(unit.repeat(Math.ceil((1 << 18) / unit.length)), language);
  });
}
