//! Tokens that say by their beginning what they are. A new kind of token is a new row.

use crate::core::redaction::classes::Class::{self, *};

pub struct Token {
    pub prefix: &'static str,
    /// What the rest is made of.
    pub class: Class,
    pub least: usize,
    pub most: usize,
    /// Whether it may stand behind letters: its prefix is in no word.
    pub anywhere: bool,
    /// Whether the prefix is an address that may be read.
    pub keeps_prefix: bool,
}

const fn any(prefix: &'static str, class: Class, least: usize) -> Token {
    Token { prefix, class, least, most: usize::MAX, anywhere: true, keeps_prefix: false }
}

const fn word(prefix: &'static str, class: Class, least: usize) -> Token {
    Token { anywhere: false, ..any(prefix, class, least) }
}

const fn exact(prefix: &'static str, class: Class, length: usize) -> Token {
    Token { most: length, ..word(prefix, class, length) }
}

const fn keeps(prefix: &'static str, class: Class, least: usize) -> Token {
    Token { keeps_prefix: true, ..any(prefix, class, least) }
}

/// By the first byte of a prefix, a bit for each second byte: most pairs of letters begin none.
static PAIRS: [u128; 128] = pairs();

#[expect(clippy::indexing_slicing, reason = "made by the compiler")]
const fn pairs() -> [u128; 128] {
    let mut pairs = [0; 128];
    let mut row = 0;
    while row < TOKENS.len() {
        let prefix = TOKENS[row].prefix.as_bytes();
        pairs[prefix[0] as usize] |= 1 << prefix[1];
        row += 1;
    }
    pairs
}

/// The rows whose prefix begins with these two bytes.
pub fn starting_with(first: u8, second: u8) -> &'static [Token] {
    let seconds = PAIRS.get(usize::from(first)).copied().unwrap_or_default();
    if second > 127 || seconds >> second & 1 == 0 {
        return &[];
    }
    let pair = (first, second);
    let head = |token: &Token| match token.prefix.as_bytes() {
        [first, second, ..] => (*first, *second),
        _ => (0, 0),
    };
    let start = TOKENS.partition_point(|token| head(token) < pair);
    let rest = TOKENS.get(start..).unwrap_or_default();
    let count = rest.iter().take_while(|token| head(token) == pair).count();
    rest.get(..count).unwrap_or_default()
}

/// Tokens that are known by what stands in their middle or at their end.
pub struct Infix {
    pub mark: &'static str,
    pub before: (Class, usize, usize),
    pub after: (Class, usize),
}

pub const INFIXES: [Infix; 9] = [
    Infix { mark: "+ACR", before: (Base64, 40, 44), after: (Alnum, 6) },
    Infix { mark: "-us", before: (Hex, 32, 32), after: (Digit, 1) },
    Infix { mark: ".atlasv1.", before: (Alnum, 14, 14), after: (Key, 50) },
    Infix { mark: "8Q~", before: (Key, 3, 3), after: (Key, 31) },
    Infix { mark: "7Q~", before: (Key, 3, 3), after: (Key, 31) },
    Infix { mark: ":AA", before: (Digit, 8, 16), after: (Dash, 30) },
    Infix { mark: "==:", before: (Base64, 22, 22), after: (Alnum, 32) },
    Infix { mark: "_mmk", before: (Word, 36, 36), after: (Alnum, 0) },
    Infix { mark: "|", before: (Digit, 15, 16), after: (Dash, 27) },
];

/// Sorted by their bytes.
#[rustfmt::skip]
pub const TOKENS: &[Token] = &[
    any("3MVG9", Key, 60),
    exact("4b1d", Alnum, 38),
    any("5AEP861", Key, 60),
    any("A3-", Dash, 24),
    exact("A3T", Upper, 17),
    exact("ABIA", Upper, 16),
    any("ABSK", Key, 60),
    exact("ACCA", Upper, 16),
    any("AGE-SECRET-KEY-1", Alnum, 20),
    any("AIza", Dash, 30),
    any("AKCp", Alnum, 50),
    exact("AKIA", Upper, 16),
    any("API-", Upper, 24),
    word("AQ.", Key, 30),
    word("AQVN", Dash, 34),
    exact("ASIA", Upper, 16),
    any("ATATT3", Key, 20),
    any("ATBB", Alnum, 20),
    any("ATCTT3", Key, 20),
    any("BBDC-", Key, 20),
    any("BBFF-", Alnum, 30),
    any("CCIPAT_", Word, 20),
    any("CCIPRJ_", Word, 20),
    any("CFPAT-", Dash, 20),
    any("CLOJARS_", Alnum, 30),
    word("EAAA", Dash, 40),
    word("EAAC", Alnum, 80),
    word("EAACE", Alnum, 40),
    word("EAAM", Alnum, 80),
    any("EZAK", Alnum, 40),
    any("EZTK", Alnum, 40),
    any("FLWPUBK_TEST-", Dash, 20),
    any("FLWSECK-", Dash, 20),
    any("FLWSECK_TEST-", Dash, 10),
    any("GOCSPX-", Dash, 16),
    any("GR1348941", Dash, 16),
    any("HRKU-", Dash, 20),
    any("LTAI", Alnum, 17),
    any("NF-", Alnum, 32),
    any("NRAK-", Alnum, 16),
    any("NRBR-", Alnum, 16),
    any("NRII-", Dash, 16),
    any("NRIQ-", Dash, 16),
    any("NRJS-", Alnum, 16),
    any("NRRA-", Alnum, 16),
    any("PMAK-", Dash, 20),
    word("SG.", Key, 20),
    exact("SK", Hex, 32),
    any("VF.DM.", Key, 30),
    any("VF.WS.", Key, 30),
    word("YC", Dash, 38),
    word("aat_", Alnum, 30),
    any("access-development-", Dash, 30),
    any("access-production-", Dash, 30),
    any("access-sandbox-", Dash, 30),
    any("aio_", Alnum, 24),
    any("ak_live_", Alnum, 20),
    keeps("alchemy.com/v2/", Value, 20),
    keeps("api.telegram.org/bot", Value, 20),
    any("api_org_", Alnum, 30),
    any("apify_api_", Alnum, 20),
    any("apify_proxy_", Alnum, 20),
    any("bb_ma_", Alnum, 20),
    any("bb_pr_", Alnum, 20),
    any("bedrock-api-key-", Key, 30),
    any("bkaj_", Alnum, 20),
    any("bkua_", Alnum, 20),
    any("bws_", Key, 20),
    any("cfat_", Alnum, 30),
    any("cfk_", Alnum, 30),
    any("cfut_", Alnum, 30),
    any("cmVmd", Alnum, 50),
    word("dapi", Dash, 32),
    any("dckr_oat_", Dash, 16),
    any("dckr_pat_", Dash, 16),
    any("ddp_", Alnum, 30),
    any("ddw_", Alnum, 30),
    keeps("discord.com/api/webhooks/", Value, 16),
    keeps("discordapp.com/api/webhooks/", Value, 16),
    any("dnkey-", Dash, 30),
    any("doo_v1_", Alnum, 20),
    any("dop_v1_", Alnum, 20),
    any("dor_v1_", Alnum, 20),
    any("dp.audit.", Key, 30),
    any("dp.ct.", Key, 30),
    any("dp.pt.", Key, 30),
    any("dp.sa.", Key, 30),
    any("dp.scim.", Key, 30),
    any("dp.st.", Key, 30),
    any("dt0c01.", Key, 20),
    any("dt0s01.", Key, 20),
    any("dt0s16.", Key, 20),
    any("duffel_live_", Dash, 20),
    any("duffel_test_", Dash, 20),
    any("e2b_", Alnum, 30),
    any("endr+", Dash, 16),
    keeps("events.pagerduty.com/integration/", Value, 16),
    word("ext_", Key, 50),
    any("eyJrIjoi", Key, 40),
    word("fd_", Alnum, 30),
    any("figd_", Dash, 20),
    any("figo_", Dash, 20),
    any("figp_", Dash, 20),
    any("fio-u-", Dash, 30),
    any("flb_live_", Alnum, 16),
    any("fm1a_", Key, 40),
    any("fm1r_", Key, 40),
    any("fm2_", Key, 40),
    any("fo1_", Dash, 30),
    any("fpt_", Dash, 20),
    word("fw_", Alnum, 22),
    any("gho_", Alnum, 20),
    any("ghp_", Alnum, 20),
    any("ghr_", Alnum, 20),
    any("ghs_", Dash, 20),
    any("ghu_", Alnum, 20),
    any("github_pat_", Dash, 22),
    any("glagent-", Dash, 16),
    any("glc_", Key, 30),
    any("glcbt-", Dash, 16),
    any("gldt-", Dash, 16),
    any("glffct-", Dash, 16),
    any("glft-", Dash, 16),
    any("glimt-", Dash, 16),
    any("gloas-", Dash, 16),
    any("glpat-", Key, 16),
    any("glptt-", Dash, 16),
    any("glrt-", Key, 16),
    any("glrtr-", Dash, 16),
    any("glsa_", Word, 30),
    any("glsoat-", Dash, 16),
    any("glwt-", Dash, 16),
    any("gsk_", Alnum, 20),
    word("hf_", Alnum, 20),
    keeps("hooks.slack.com/services/", Value, 8),
    keeps("hooks.slack.com/triggers/", Value, 16),
    keeps("hooks.slack.com/workflows/", Value, 16),
    keeps("hooks.zapier.com/hooks/catch/", Value, 10),
    any("hvb.", Dash, 20),
    any("hvr.", Dash, 20),
    any("hvs.", Dash, 20),
    any("ico-", Alnum, 30),
    keeps("infura.io/v3/", Value, 20),
    any("jina_", Dash, 30),
    exact("key-", Hex, 32),
    any("key_live_", Alnum, 16),
    any("lin_api_", Alnum, 20),
    any("lin_oauth_", Alnum, 20),
    word("live_", Alnum, 30),
    any("live_sk_", Alnum, 16),
    any("lsv2_pt_", Word, 20),
    any("lsv2_sk_", Word, 20),
    keeps("maker.ifttt.com/use/", Value, 10),
    word("na1.", Key, 80),
    any("napi_", Dash, 30),
    any("nfc_", Alnum, 30),
    any("nfp_", Alnum, 30),
    any("npm_", Alnum, 30),
    any("ntn_", Alnum, 20),
    any("nvapi-", Dash, 20),
    any("ops_eyJ", Key, 60),
    any("ory_ac_", Key, 20),
    any("ory_at_", Key, 20),
    any("ory_rt_", Key, 20),
    keeps("outlook.office.com/webhook/", Value, 16),
    exact("oy2", Alnum, 43),
    any("p8e-", Alnum, 30),
    any("pat-eu1-", Dash, 20),
    any("pat-na1-", Dash, 20),
    word("pat.", Key, 50),
    any("pcsk_", Word, 30),
    any("phc_", Word, 30),
    any("phs_", Word, 30),
    any("phx_", Word, 30),
    word("pi_", Word, 40),
    word("pk.", Key, 32),
    any("pk_live_", Dash, 10),
    any("pnu_", Alnum, 30),
    any("pplx-", Alnum, 20),
    any("pscale_oauth_", Key, 20),
    any("pscale_pw_", Key, 20),
    any("pscale_tkn_", Key, 20),
    word("pub-c-", Dash, 30),
    any("pul-", Alnum, 30),
    any("pypi-", Dash, 30),
    word("r8_", Dash, 20),
    any("ramp_id_", Alnum, 20),
    any("ramp_sec_", Alnum, 20),
    any("rdme_", Alnum, 30),
    word("re_", Word, 30),
    any("rh-api-", Dash, 30),
    any("rk_live_", Dash, 10),
    any("rk_prod_", Dash, 10),
    any("rk_test_", Dash, 10),
    any("rootly_", Alnum, 30),
    any("rubygems_", Alnum, 20),
    any("rzp_live_", Alnum, 14),
    any("rzp_test_", Alnum, 14),
    any("s-s4t2af-", Alnum, 40),
    any("s-s4t2ud-", Alnum, 40),
    any("salad_cloud_", Word, 20),
    word("sat.", Key, 50),
    any("sb_secret_", Dash, 16),
    any("sbp_", Alnum, 20),
    word("sc_", Key, 50),
    word("sec-c-", Dash, 30),
    word("secret_", Alnum, 30),
    any("sgp_", Word, 30),
    any("sha256~", Dash, 30),
    any("shippo_live_", Alnum, 20),
    any("shippo_test_", Alnum, 20),
    any("shltm_", Dash, 20),
    any("shpat_", Alnum, 20),
    any("shpca_", Alnum, 20),
    any("shppa_", Alnum, 20),
    any("shpss_", Alnum, 20),
    word("sk-", Dash, 16),
    any("sk-admin-", Dash, 16),
    any("sk-ant-", Dash, 16),
    any("sk-or-v1-", Dash, 16),
    any("sk-proj-", Dash, 16),
    any("sk-svcacct-", Dash, 16),
    word("sk.", Key, 60),
    any("sk_live_", Dash, 10),
    any("sk_prod_", Dash, 10),
    any("sk_test_", Dash, 10),
    word("sl.", Key, 60),
    any("slk_", Alnum, 30),
    any("sm_aat_", Alnum, 16),
    any("sm_pat_", Alnum, 16),
    any("sm_sat_", Alnum, 16),
    any("sntl_", Alnum, 30),
    any("sntrys_", Key, 20),
    any("sntryu_", Alnum, 20),
    any("sq0atp-", Dash, 16),
    any("sq0csp-", Dash, 16),
    any("sq0idp-", Dash, 16),
    any("sqa_", Alnum, 30),
    any("sqco_", Alnum, 30),
    any("sqp_", Alnum, 30),
    any("squ_", Alnum, 30),
    word("sub-c-", Dash, 30),
    word("t1.", Key, 60),
    exact("test_", Hex, 35),
    any("tfp_", Dash, 30),
    any("thog-key-", Alnum, 16),
    any("thog-secret-", Alnum, 20),
    any("tk-us-", Dash, 30),
    any("tok_live_", Alnum, 16),
    any("tr_dev_", Alnum, 16),
    any("tr_prod_", Alnum, 16),
    any("trigger_sk_", Alnum, 20),
    any("tskey-", Dash, 12),
    any("tvly-", Dash, 16),
    any("uvk_", Dash, 30),
    word("v1.0-", Dash, 100),
    any("vck_", Dash, 30),
    any("vcp_", Dash, 30),
    any("wandb_v1_", Word, 20),
    keeps("webhook.office.com/webhookb2/", Value, 16),
    any("whsec_", Key, 16),
    word("xai-", Dash, 20),
    any("xapp-", Dash, 10),
    any("xkeysib-", Dash, 30),
    any("xoxa-", Dash, 10),
    any("xoxb-", Dash, 10),
    any("xoxc-", Dash, 10),
    any("xoxd-", Key, 10),
    any("xoxe-", Dash, 10),
    any("xoxe.", Key, 10),
    any("xoxo-", Dash, 10),
    any("xoxp-", Dash, 10),
    any("xoxr-", Dash, 10),
    any("xoxs-", Dash, 10),
    any("xsmtpsib-", Dash, 30),
    any("ya29.", Key, 20),
    any("zpka_", Word, 20),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_each_is_found() {
        assert!(TOKENS.is_sorted_by(|a, b| a.prefix.as_bytes() < b.prefix.as_bytes()));
        for token in TOKENS {
            let bytes = token.prefix.as_bytes();
            let found = starting_with(bytes[0], bytes[1]);
            assert!(found.iter().any(|row| row.prefix == token.prefix), "{}", token.prefix);
        }
    }
}
