"""What opens a door: tokens, passwords, keys."""

from __future__ import annotations

from tracelens.render._kinds import kind

__all__ = ["TOKENS"]

TOKENS = (
    *kind(
        "secret",
        "hf_ gh github_pat_ glpat- xox sk- akia asia eyj npm_ pypi- aiza ya29. sg. sk_ rk_ whsec_ "
        "xapp- nvapi- gsk_ dapi dop_v1_ lin_api_ atatt3 age-secret-key-",
        r"(?<!\w)(?P<name>hf_[A-Za-z0-9]{16,200}|gh[opsur]_[A-Za-z0-9]{20,200}"
        r"|github_pat_[A-Za-z0-9_]{20,200}|glpat-[\w-]{16,200}|xox[abprs]-[\w-]{10,200}"
        r"|sk-[A-Za-z0-9_-]{20,200}|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|npm_[A-Za-z0-9]{20,200}|pypi-[\w-]{20,2000}|AIza[\w-]{30,60}|ya29\.[\w-]{16,2000}"
        r"|SG\.[\w-]{16,60}\.[\w-]{16,99}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,200}|whsec_\w{16,200}"
        r"|xapp-[\w-]{10,200}|nvapi-[\w-]{20,200}|gsk_[A-Za-z0-9]{20,200}|dapi[0-9a-f]{32}"
        r"|dop_v1_[0-9a-f]{32,99}|lin_api_\w{16,200}|ATATT3[\w=-]{20,400}"
        r"|AGE-SECRET-KEY-[A-Z0-9]{20,200}|eyJ[\w-]{10,2000}\.[\w-]{10,2000}\.[\w-]{6,2000})",
    ),
    *kind(
        "secret", "bearer basic", r"(?P<keep>\b(?:[Bb]earer|Basic) )(?P<name>[\w.~+/=-]{8,2000})"
    ),
    *kind(
        "secret",
        "private",
        r"(?P<keep>-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----\s{0,4})(?P<name>[^\s-][^-]{1,9999})",
    ),
    *kind("secret", "ssh-", r"(?P<keep>\bssh-(?:rsa|dss|ed25519) )(?P<name>AAAA[\w+/=]{16,2000})"),
    *kind("secret", "cookie", r"(?P<keep>\b(?i:(?:set-)?cookie): )(?P<name>[^\r\n'\"]{3,2000})"),
    # As an option: ``--token VALUE``.
    *kind(
        "key",
        "token passw secret --",
        r"(?P<keep>(?<!\w)--(?:[a-z]{1,30}-){0,4}"
        r"(?:token|password|passwd|secret|api-key|access-key) )"
        r"(?P<name>[^\s'\"<>|-][^\s'\"<>|]{2,2000})",
    ),
    *kind(
        "userinfo",
        "://",
        r"(?P<keep>\b[a-z][a-z0-9+.-]{1,20}://)(?P<name>[^\s/:@'\"]{0,200}:[^\s/@'\"]{1,200})(?=@)",
    ),
    # A number after ``token=`` is a count of tokens.
    *kind(
        "key",
        "token secret pass pw credential account sig key= key: key' key\" authorization",
        r"(?P<keep>(?i:(?<![a-z0-9])(?:[a-z0-9]{1,40}[_.-]){0,5}"
        r"(?:token|secret|passphrase|[a-z]{0,20}password|passwd|pw|credentials?|accountkey|account_key|"
        r"sharedaccesskey|signature|sig|apikey|api[_-]key|access[_-]key(?:[_-]id)?|private[_-]key|"
        r"secret[_-]key|authorization)(?:_id)?)['\"]?(?:=(?!=)|: ?)['\"]?)"
        r"(?P<name>(?!(?:Bearer|Basic) |[\d.]{1,12}(?![\w-]))[^\s'\",;&<>()\[\]{}]{3,2000})",
    ),
    *kind(
        "digest",
        "0 1 2 3 4 5 6 7 8 9",
        r"(?<![\w/+.=-])(?P<name>[0-9a-f]{32,512}|[0-9A-F]{32,512}"
        r"|[A-Za-z0-9+/]{32,2000}={0,2})(?![\w/+.=-])",
    ),
)
