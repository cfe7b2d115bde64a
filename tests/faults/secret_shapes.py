"""Secrets of common shapes, made up anew for every run, and the text that they come in."""

import base64
import random
import string

ALPHANUMERIC = string.ascii_letters + string.digits


def shapes(seed=1):
    """Name, text, and the parts of the text that must not be stored."""
    chance = random.Random(seed)

    def word(length, letters=ALPHANUMERIC):
        body = "".join(chance.choice(letters) for _ in range(length - 2))
        # Two digits, so that every one of them looks like a secret.
        return f"{body[: length // 2]}{chance.randrange(10, 100)}{body[length // 2 :]}"

    def key_lines():
        return [word(64) for _ in range(3)]

    def block(title, lines, newline="\n"):
        return newline.join([f"-----BEGIN {title}-----", *lines, f"-----END {title}-----"])

    def one(name, text, secret):
        return name, text.format(secret), [secret]

    rsa, openssh, account = key_lines(), key_lines(), key_lines()
    upper = string.ascii_uppercase + string.digits
    claims = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"HS256"}', b'{"sub":"4711","name":"x"}')]
    basic = base64.b64encode(f"bob:{word(12)}".encode()).decode()
    phrase = [word(9), word(10), word(11)]
    return [
        one("bearer token", "curl -H 'Authorization: Bearer {}' http://h/x", word(40)),
        one("basic authorization", "curl -H 'Authorization: Basic {}' http://h/x", basic),
        one("token header", "Authorization: token {}", word(40)),
        one("API key header", "curl -H 'X-Api-Key: {}' http://h/x", word(32)),
        one("cookie", "Cookie: session={}; theme=dark", word(32)),
        one("OpenAI key", "key sk-{} end", word(48)),
        one("OpenAI project key", "key sk-proj-{} end", word(60)),
        one("Anthropic key", "export ANTHROPIC_API_KEY=sk-ant-api03-{}", word(80)),
        one("GitHub token", "git push with ghp_{}", word(36)),
        one("GitHub fine-grained token", "github_pat_{}", word(60)),
        one("GitLab token", "use glpat-{} here", word(20)),
        one("Slack bot token", "xoxb-1234567890-{}", word(24)),
        one("Slack webhook", "curl -d hi https://hooks.slack.com/services/T00000000/B00000000/{}", word(24)),
        one("AWS key id", "aws AKIA{} ok", word(16, upper)),
        one("AWS secret key", "AWS_SECRET_ACCESS_KEY={}", word(40)),
        one("Google API key", "AIza{}", word(35)),
        one("npm token", "//registry.example.com/:_authToken=npm_{}", word(36)),
        one("PyPI token", "pypi-{}", word(60)),
        one("Stripe key", "sk_live_{}", word(24)),
        one("Hugging Face token", "hf_{}", word(34)),
        one("SendGrid key", f"SG.{word(22)}.{{}}", word(43)),
        one("JWT", f"{claims[0]}.{claims[1]}.{{}}", word(43)),
        ("RSA private key", f"cat id_rsa\n{block('RSA PRIVATE KEY', rsa)}\n", rsa),
        ("OpenSSH private key, cut off", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join(openssh), openssh),
        ("service account", '{"private_key": "%s"}' % block("PRIVATE KEY", account, "\\n"), account),
        one("password in a URL", "psql postgres://admin:{}@db.local:5432/shop", word(14)),
        one("token in a URL", "git clone https://{}@github.com/x/y", word(40)),
        one("redis URL", "redis-cli -u redis://:{}@cache:6379 ping", word(14)),
        one("key in a query", "curl 'https://api.example.com/v1?api_key={}&x=1'", word(20)),
        one("mysql password", "mysql -u root -p{} shop", word(12)),
        one("sshpass", "sshpass -p '{}' ssh host", word(12)),
        one("curl user", "curl -u bob:{} http://h/x", word(12)),
        one("password flag", "tool --password {} --verbose", word(12)),
        one("token flag", "deploy --token={} --now", word(20)),
        one("docker login", "docker login -u bob -p {} registry.local", word(16)),
        ("quoted password", f'export DB_PASSWORD="{" ".join(phrase)}"', phrase),
        one("JSON password", '{{"user": "bob", "password": "{}"}}', word(12)),
        one("camel case token", '{{"accessToken": "{}"}}', word(30)),
        one("YAML secret", "client_secret: {}", word(24)),
        one("netrc", "machine h login bob password {}", word(12)),
        one("storage account key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;x", word(64)),
    ]
