"""The session that `hookkeeper demo` plays: a small web shop, and what the model says and does in it.

Seconds are how long the model thinks: the recording takes as long as a real session of this kind would.
"""
from script import agent, bash, call, text

TASK = ("Review the checkout and the login before Friday's release, with agents in parallel. "
        "Then fix what is serious, until the checks pass.")
MODEL = "claude-sonnet-4-6"
ADVISORIES_PORT = 8437
# All of it together takes about five minutes.
SLOWER = 1.7
# With this the context of this model, which holds 200,000 tokens, is full: the client compacts it.
FULL = 11_500
GATE = "hookkeeper run-gate checks -- sh checks.sh"

LOGIN = """\
import { findUser } from "./users.js";
import { verify } from "./passwords.js";

export async function login(request, response) {
  const { email, password } = request.body;
  const user = await findUser(email);
  if (!user || !(await verify(password, user.hash))) {
    console.log("login failed", request.body);
    return response.status(401).json({ error: "wrong email or password" });
  }
  response.cookie("session", user.id);
  return response.json({ ok: true });
}
"""

CHECKOUT = """\
import { charge } from "./payments.js";
import { loadCart, emptyCart } from "./cart.js";

export async function checkout(request, response) {
  const cart = await loadCart(request.session.cartId);
  const total = request.body.total;
  const payment = await charge(request.body.card, total);
  if (!payment.ok) return response.status(402).json({ error: payment.reason });
  await emptyCart(cart.id);
  return response.json({ order: payment.order, total });
}

export function discount(total, code) {
  return code === "FRIDAY10" ? total * 0.9 : total;
}
"""

CART = """\
const carts = new Map();

export async function loadCart(id) {
  return carts.get(id);
}

export async function emptyCart(id) {
  carts.set(id, { id, items: [] });
}
"""

SESSIONS = """\
import { randomUUID } from "node:crypto";

const sessions = new Map();

export async function startSession(user) {
  const id = randomUUID();
  sessions.set(id, user.id);
  return id;
}
"""

CHECKS = """\
#!/bin/sh
# The checks of the shop. They need a shell and nothing else.
failed=0
result() {
  if [ "$1" -eq 0 ]; then echo "ok    $2"; else echo "FAIL  $2"; failed=$((failed + 1)); fi
}
has() { grep -q "$2" "$3"; result $? "$1"; }
lacks() { ! grep -q "$2" "$3"; result $? "$1"; }

lacks "no password in the log" "console.log.*request.body" src/login.js
has "login attempts are limited" "tooManyAttempts" src/login.js
has "the cookie is httpOnly" "httpOnly: true" src/login.js
has "the price comes from the cart" "cart.items.reduce" src/checkout.js
has "an empty cart is refused" "status(409)" src/checkout.js
[ "$failed" -eq 0 ] && echo "5 checks, all passed" || echo "5 checks, $failed failed"
[ "$failed" -eq 0 ]
"""

ADVISORIES = f"""\
#!/bin/sh
# Known problems of what package.json asks for.
exec curl -sS --resolve advisories.shop.test:{ADVISORIES_PORT}:127.0.0.1 \\
  http://advisories.shop.test:{ADVISORIES_PORT}/shop.json
"""
ADVISORY = '{"advisories": [{"package": "cookie-parser", "version": "1.4.6", "fixed_in": "1.4.7", "severity": "moderate"}]}\n'

FILES = {
    "README.md": "# Shop\n\nA small web shop: a cart, a login, a checkout.\n",
    "package.json": '{\n  "name": "shop",\n  "version": "2.4.0",\n  "type": "module",\n  "dependencies": {\n'
                    '    "cookie-parser": "1.4.6",\n    "express": "4.21.2"\n  }\n}\n',
    "src/login.js": LOGIN,
    "src/checkout.js": CHECKOUT,
    "src/cart.js": CART,
    "src/sessions.js": SESSIONS,
    "checks.sh": CHECKS,
    "tools/advisories.sh": ADVISORIES,
}
# What the client refuses in this project.
DENIED = "Bash(git push:*)"


class Story:
    """`rules` for the scripted model. The context grows with every answer, as it does in a real session."""

    def __init__(self, project):
        self.project = project
        self.context = 38_000
        self.rules = [{"match": "create a detailed summary", "reply": [text(SUMMARY)], "delay": 9 * SLOWER,
                       "usage": _usage(171_000, 0, 900)}]
        for prompt, answers in self.agents().items():
            used = 9_000
            for seconds, blocks in answers:
                self.rules.append({"match": prompt, "in": "first", "reply": blocks, "delay": seconds * SLOWER,
                                   "usage": _usage(used, 1_400, 420)})
                used += 3_900
        for seconds, grows, *blocks in self.main():
            self.context += grows
            self.rules.append({"reply": blocks, "delay": seconds * SLOWER, "usage": _usage(self.context - grows, grows, 380)})
            if grows == FULL:
                self.context = 24_000

    def read(self, file):
        return call("Read", file_path=str(self.project / file))

    def edit(self, file, old, new):
        return call("Edit", file_path=str(self.project / file), old_string=old, new_string=new)

    def agents(self):
        return {
            REVIEW: [
                (7, [text("I read the checkout first."), self.read("src/checkout.js"), self.read("src/cart.js")]),
                (11, [run("grep -rn 'request.body' src", "Where input is used")]),
                (12, [run("grep -n 'total' src/checkout.js", "Where the total comes from")]),
                (15, [text("The checkout trusts the browser.\n\n"
                           "- **[S0]** The price is taken from the request, not from the cart (src/checkout.js:6)\n"
                           "- **[S1]** An empty or unknown cart is charged (src/checkout.js:5)\n"
                           "- **[S2]** Money is a floating-point number in discount() (src/checkout.js:14)\n")])],
            AUDIT: [
                (5, [text("The login is short."), self.read("src/login.js")]),
                (9, [run("grep -rn 'console.log' src", "What is logged")]),
                (10, [run("grep -rn 'cookie(' src", "How cookies are set")]),
                (8, [text("Three things, the first of them urgent.\n\n"
                          "- **[S0]** A failed login writes the password to the log (src/login.js:8)\n"
                          "- **[S1]** Login attempts are not limited (src/login.js:4)\n"
                          "- **[S1]** The session cookie is the user's id, and not httpOnly (src/login.js:11)\n")])],
            TESTS: [
                (6, [run("ls -R . | head -40", "What there is"), self.read("checks.sh")]),
                (18, [run("grep -n 'has\\|lacks' checks.sh", "What is checked")]),
                (16, [text("The checks cover the login and the price.\n\n"
                           "- **[S2]** No check for a card that is declined (checks.sh:16)\n"
                           "- **[S3]** README does not say how to run the checks (README.md:3)\n")])],
            DEPENDENCIES: [
                (6, [self.read("package.json")]),
                (7, [run("sh tools/advisories.sh", "Ask for known problems")]),
                (16, [run("sh tools/advisories.sh", "Ask again")]),
                (11, [text("One dependency is behind; the service answered at the second try.\n\n"
                           "- **[S2]** cookie-parser 1.4.6 has a known problem, fixed in 1.4.7 (package.json:6)\n")])],
        }

    def main(self):
        """(seconds, tokens that the context grows by, blocks…)"""
        return [
            (6, 6_000, text("I let four agents look at it side by side."),
             agent("Review the checkout", REVIEW), agent("Audit the login", AUDIT),
             agent("Look for missing checks", TESTS, kind="Explore"),
             agent("Check the dependencies", DEPENDENCIES)),
            (10, 24_000, text("Two findings are urgent. I work on them in a loop that the checks end."),
             run("hookkeeper loop start 'Fix what the review found' --gate checks --max-iterations 10", "Start the loop")),
            (4, 5_000, run("hookkeeper queue add --priority S3 --title 'Say in README how to run the checks'",
                           "Note what is small")),
            (8, 12_000, self.read("src/login.js"), self.read("README.md")),
            (12, 14_000, self.edit("src/login.js", '    console.log("login failed", request.body);\n',
                                   '    console.log("login failed", email);\n')),
            (9, 13_000, self.edit("src/login.js", "  const user = await findUser(email);\n",
                                  '  if (tooManyAttempts(request.ip)) return response.status(429).json({ error: "try again later" });\n'
                                  "  const user = await findUser(email);\n"),
             self.edit("src/login.js", "import { findUser }",
                       'import { tooManyAttempts } from "./attempts.js";\nimport { findUser }'),
             call("Write", file_path=str(self.project / "src/attempts.js"), content=ATTEMPTS)),
            # Findings that are urgent are items of the queue by themselves: 1 to 5, as the agents ended.
            (5, 9_000, run("hookkeeper queue done work-001", "The log is done"),
             run("hookkeeper queue done work-002", "The limit is done")),
            (5, 11_000, run(GATE, "Run the checks")),
            (6, 8_000, text("The login is fixed but for its cookie; the checkout is not yet. The checks say so.")),
            # The first stop is refused here: the loop goes on.
            (8, 12_000, self.read("src/checkout.js")),
            (11, 8_000, self.edit("src/checkout.js", "  const total = request.body.total;\n",
                                  '  if (!cart?.items.length) return response.status(409).json({ error: "the cart is empty" });\n'
                                  "  const total = cart.items.reduce((sum, item) => sum + item.price, 0);\n"),
             self.edit("src/login.js", 'response.cookie("session", user.id);',
                       'response.cookie("session", await startSession(user), { httpOnly: true, sameSite: "lax" });'),
             self.edit("src/login.js", 'import { verify }', 'import { startSession } from "./sessions.js";\nimport { verify }'),
             self.edit("README.md", "a login, a checkout.\n", "a login, a checkout.\n\nThe checks: `sh checks.sh`\n")),
            (6, FULL, *[run(f"hookkeeper queue done work-00{n}", f"Item {n} is done") for n in (3, 4, 5, 6)]),
            # The context is full here; the client compacts it, and we give back what must not be lost.
            (7, 1_900, run(GATE, "Run the checks again")),
            (6, 800, text("All five checks pass now, and no item is open.")),
            # Passed once; the loop wants it twice.
            (7, 1_500, run("git push origin main", "Publish it")),
            (8, 900, run(GATE, "Once more, as the loop asks")),
            (7, 1_100, text("Done: the price comes from the cart, passwords stay out of the log, and login attempts are "
                            "limited. I may not push here; that is left to you.")),
        ]


def run(command, description):
    return {**bash(command), "input": {"command": command, "description": description}}


def _usage(read, created, output):
    return {"input_tokens": 40, "cache_read_input_tokens": read, "cache_creation_input_tokens": created,
            "output_tokens": output}


REVIEW = ("Review src/checkout.js: what can a customer do that costs us money? Report findings with severity "
          "(S0 to S3), file and line.")
AUDIT = "Audit src/login.js: passwords, attempts, cookies. Report findings with severity, file and line."
TESTS = "Look at checks.sh: what is not checked that should be? Report findings with severity, file and line."
DEPENDENCIES = "Check package.json against tools/advisories.sh. Report findings with severity, file and line."
ATTEMPTS = """\
const WINDOW = 15 * 60 * 1000;
const MOST = 10;
const attempts = new Map();

export function tooManyAttempts(address) {
  const since = Date.now() - WINDOW;
  const recent = (attempts.get(address) ?? []).filter((time) => time > since);
  attempts.set(address, [...recent, Date.now()]);
  return recent.length >= MOST;
}
"""
SUMMARY = """\
<summary>
The checkout and the login of the shop were reviewed by four agents. The login no longer logs passwords and limits
attempts; the checkout takes its price from the cart. What is left: run the checks until the loop ends.
</summary>"""
