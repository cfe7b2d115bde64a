use super::*;

/// Text with the secret in angle brackets.
const SECRETS: [&str; 55] = [
    "{\"Authorization\":\"token <abcdef123456>\"}",
    "{\\\"Authorization\\\": \\\"<abcdef123456>\\\"}",
    "{\"Cookie\":\"<a=abcdef123456>\"}",
    "curl -H 'Authorization: Bearer <sk-test-FAKE0123456789abcdef>'",
    "authorization: bearer <abcdef123456>",
    "Authorization: Basic <dXNlcjpwYXNzd29yZA==>",
    "x-api-key: <k3yk3yk3yk3y>",
    "Cookie: <session=abcd1234; theme=dark>",
    "export OPENAI_API_KEY=<abcdefghijklmnop>",
    "key <sk-ant-api03-AbCd1234EfGh5678-xyz>",
    "stripe <sk_live_51H8abcdefGHIJ>",
    "hook <whsec_abcdefgh12345678>",
    "git clone https://<ghp_16C7e42F292c6912E7710c838347Ae178B4a>@github.com/x/y",
    "<github_pat_11ABCDEFG0abcdefghij_klmnop>",
    "<gho_16C7e42F292c6912E7710c838347Ae178B4a>",
    "<glpat-ABCdef1234567890abcd>",
    "slack <xoxb-123456789012-abcdefGHIJ>",
    "<xapp-1-A012345-678-abcdef>",
    "aws <AKIAIOSFODNN7EXAMPLE> ok",
    "AWS_SECRET_ACCESS_KEY=<wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY>",
    "google <AIzaSyA1234567890abcdefghijklmnopqrstuv>",
    "<ya29.a0AfH6SMBx1234567890abcdef>",
    "<npm_abcdefghijklmnopqrstuvwxyz0123456789>",
    "<pypi-AgEIcHlwaS5vcmcCJDEyMzQ1Njc4OTAxMjM0>",
    "<dckr_pat_abcdEFGH1234ijklMNOP>",
    "<hf_abcdefghijklmnopqrst1234>",
    "<SG.abcdefghij1234567890.klmnopqrstuv>",
    "<shpat_0123456789abcdef0123456789abcdef>",
    "<dop_v1_0123456789abcdef0123456789abcdef>",
    "<eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_123>",
    "postgres://admin:<hunter2>@db.local:5432/x",
    "redis://:<p4ss>@cache",
    "mysql -u root -p<hunter2> shop",
    "sshpass -p '<hunter2>' ssh host",
    "curl -u bob:<hunter2> http://x",
    "tool --password <hunter2> --verbose",
    "tool --api-key=<zzzz>",
    "DB_PASSWORD=\"<correct horse battery>\" make",
    "{\"password\": \"<hunter2>\"}",
    "{\\\"client_secret\\\": \\\"<abc>\\\"}",
    "password: <hunter2>",
    "https://api.example.com/v1?api_key=<abcdef>&x=1",
    "https://hooks.slack.com/services/<T000/B000/XXXX>",
    "DefaultEndpointsProtocol=https;AccountKey=<abcd1234+/==>;x",
    "<-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----->\nafter",
    "<-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl, cut off>",
    "GITHUB_TOKEN=<abc>",
    "machine h login bob password <s3cr3tpw>",
    "<hvs.CAESIJ1234567890abcdefghij>",
    "docker login -u x -p <hunter2> registry",
    "{\"accessToken\": \"<abc>\"}",
    "{\"private_key\": \"<-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----\\n>\"}",
    "{\"error\": \"line\\n<ghp_16C7e42F292c6912E7710c838347Ae178B4a>\"}",
    "githubToken=<abc>",
    "{\"password\": \"<a \\\" b>\", \"x\": 1}",
];

#[test]
fn secrets_go_and_the_rest_stays() {
    for case in SECRETS {
        let text = case.replace(['<', '>'], "");
        let (before, rest) = case.split_once('<').unwrap();
        let (_, after) = rest.split_once('>').unwrap();
        let expected = format!("{before}{MARK}{after}");
        assert_eq!(Redactor::default().text(&text), expected, "{case}");
    }
}

#[test]
fn a_closing_tag_behind_a_value_is_no_type() {
    for tag in ["</tool_use_error>", "<\\/tool_use_error>"] {
        let text = format!("<tool_use_error>client_secret: abcDEfghIJkl42mnOPqrSTuv{tag}");
        let expected = format!("<tool_use_error>client_secret: {MARK}{tag}");
        assert_eq!(Redactor::default().text(&text), expected);
    }
    let code = "let token: Matrix4<T> = parse();";
    assert_eq!(Redactor::default().text(code), code);
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "Unexpected token: identifier",
        "SyntaxError: Unexpected token ';'",
        "commit 9f99b61ba6274cde98567e07b84da7b2deadbeef",
        "src/auth/password.ts:12",
        "session 9f99b61b-a627-4cde-9856-7e07b84da7b2",
        "sk-learn-is-a-library-name",
        "the password field is empty",
        "npm_config_cache and hf_hub",
        "PASSWORD=$DB_PASSWORD",
        "http://127.0.0.1:9/health",
        "git@github.com:x/y.git",
        "toolu_000102 tokens: 1020",
        "Schlüssel 🦀 und Ähnliches",
    ] {
        assert_eq!(Redactor::default().text(text), text);
    }
}

#[test]
fn a_project_may_add_patterns() {
    let redactor = Redactor::new(&["CUST-[0-9]+".into()]);
    assert_eq!(redactor.text("for CUST-1234"), format!("for {MARK}"));
}
