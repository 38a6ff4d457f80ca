"""Reads the declarations of the public C++ headers, with their comments.

Needs: compiler/include/pantile/*.h, as clang-format leaves them.
Gives: Declarations: the code, the comment before or next to it, and members.
How:   line by line, no parser of C++: a declaration is what stands up to a `;` or a closing brace at
       which parentheses and braces are balanced. Only bodies of namespaces, structs, classes and
       enums are read. Lines of the preprocessor, and what is private, are left out.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = Path(__file__).resolve().parent.parent / "compiler/include/pantile"
_SCOPE = re.compile(r"(?:template <[^>]*> )?(namespace|struct|class|enum class|enum)\b[^;(]*\{$")


@dataclass
class Declaration:
    """A declaration: its code on one line, what is said of it, and its members."""

    code: str
    doc: str
    kind: str  # function, field, type, struct, class, enum, enumerator, namespace
    members: list = field(default_factory=list)

    @property
    def name(self):
        """The name that is declared; an operator has none that is a word."""
        if self.kind == "function":
            return re.findall(r"(operator[^(]*|[\w~]+)\s*\(", self.code)[0]
        if self.kind == "field":  # of a type that may have a body of its own
            code = re.sub(r"\{[^}]*\} (?=\w)", "", self.code)
            return re.findall(r"\w+", re.sub(r"\s*[={;[].*", "", code))[-1]
        return re.findall(r"\w+(?:<\w+>)?", re.sub(r"\s*[={;:].*", "", self.code))[-1]

    @property
    def parameters(self):
        """The names of a function's parameters."""
        start = self.code.index("(", self.code.index(self.name)) + 1
        depth, inner = 1, ""
        for c in self.code[start:]:
            depth += (c in "(<{[") - (c in ")>}]")
            if depth == 0:
                break
            inner += c if depth == 1 else "_"
        parts = [part.partition("=")[0] for part in inner.split(",") if part.strip()]
        pointer = re.search(r"\(\*(\w+)\)", self.code[start:])
        if pointer:
            return [pointer[1]]
        return [re.findall(r"\w+", part.replace("_)", " "))[-1] for part in parts]


def read(text):
    """The declarations of a header."""
    top = Declaration("", "", "namespace")
    scopes, code, doc, hidden = [top], "", [], [False]
    for line in re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M).split("\n"):
        said = re.match(r"\s*///(?!<)(.*)", line)
        if said:
            doc.append(said[1].strip())
            continue
        line, _, trailing = line.partition("///<")
        line = re.sub(r"//.*", "", line).strip()
        if re.fullmatch(r"(public|private|protected):", line):
            hidden[-1] = line != "public:"
            continue
        if scopes[-1].kind.startswith("enum") and not line.startswith("}"):
            _add_enumerators(scopes[-1], line, trailing, doc)
            doc = []
            continue
        if not code and re.match(r"\}", line):
            done = scopes.pop()
            hidden.pop()
            name = line.strip("}; ")
            if name and done.kind != "namespace":
                scopes[-1].members.append(Declaration(name, trailing.strip(), "field"))
            continue
        if trailing and not line and scopes[-1].members and not code:
            last = scopes[-1].members[-1]
            last.doc = f"{last.doc} {trailing.strip()}".strip()
            continue
        doc += [trailing.strip()] if trailing else []
        code = f"{code} {line}".strip()
        scope = _SCOPE.fullmatch(code)
        if scope:
            found = Declaration(code[:-1].strip(), " ".join(doc), scope[1])
            _keep(scopes[-1], found, hidden[-1])
            scopes.append(found if found.kind != "namespace" else scopes[-1])
            hidden.append(found.kind == "class")
            code, doc = "", []
        elif code and _is_complete(code):
            _keep(scopes[-1], Declaration(code, " ".join(doc), _kind_of(code)), hidden[-1])
            code, doc = "", []
        elif not code and not line:
            doc = []
    return top.members


def _is_complete(code):
    balanced = all(code.count(a) == code.count(b) for a, b in ("()", "{}"))
    return balanced and (code.endswith(";") or code.endswith("}"))


def _kind_of(code):
    if code.startswith(("using ", "struct ", "class ")):
        return "type"
    before, count = re.split(r"[={]", code)[0], 1
    while count:  # what stands between angle brackets, from the inside out
        before, count = re.subn(r"<[^<>]*>", "", before)
    return "function" if "(" in before or "operator" in code else "field"


def _add_enumerators(scope, line, trailing, doc):
    for name in re.findall(r"\w+", re.sub(r"=[^,]*", "", line)):
        scope.members.append(Declaration(name, trailing.strip() or " ".join(doc), "enumerator"))


def _keep(scope, found, is_hidden):
    trivial = re.search(r"= (default|delete);$", found.code) or found.code.startswith("friend ")
    if found.kind != "namespace" and not is_hidden and not trivial:
        scope.members.append(found)


def headers():
    """(path, banner text, declarations) of each public header."""
    for path in sorted(HEADERS.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        banner = re.match(r"((?://.*\n)+)", text)[1].split("\n")
        said = [re.sub(r"^// ?", "", line) for line in banner[1:] if not line.startswith("//==")]
        title = re.search(r"- (.*?) -+===//", banner[0])[1]
        yield path, title, "\n".join(said).strip(), read(text)
