"""What names machines, and the people and programs that reach them."""

from __future__ import annotations

from tracelens.render._kinds import kind

__all__ = ["MACHINES"]

_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
#: What a mail address may end in, besides two letters: an attribute of a matrix must not pass.
_DOMAINS = (
    "com org net edu gov mil int info biz name dev app cloud tech online site xyz science academy "
    "email company systems software digital museum example test invalid local internal corp lan "
    "pro jobs mobi aero coop travel asia cat tel post wiki ninja zone world network"
).replace(" ", "|")


MACHINES = (
    *kind(
        "host",
        "host nodename node_name nodelist master_addr server rdzv_endpoint machine_name",
        r"(?P<keep>(?i:(?<![a-z0-9])(?<!\bthe )(?<!\ba )(?:[a-z0-9]{1,40}[_.-]){0,4}"
        r"(?:host|hostname|nodename|node_name|nodelist|master_addr|server|server_name|"
        r"rdzv_endpoint|machine_name))['\"]?(?:=(?!=)|: ?)['\"]?)"
        r"(?P<name>(?!localhost|\d|https?:)[A-Za-z0-9][\w.-]{1,254})(?![\w(\[])",
    ),
    *kind(
        "url",
        "://",
        r"(?P<keep>(?<![\w.+-])[A-Za-z][A-Za-z0-9+.-]{1,20}://(?:[^\s/@'\"]{1,300}@)?)"
        r"(?P<name>[A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?=[:/?#\s'\"),;\]]|$)",
    ),
    *kind(
        "host",
        "nodelist",
        r"(?P<keep>(?i:nodelist)['\"]?(?:=|: ?)['\"]?)(?P<name>[A-Za-z][\w.,\[\]-]{1,200})",
    ),
    # ``on node add_1`` is a graph's.
    *kind(
        "host",
        "on",
        r"(?P<keep>\bon (?:host|machine|server) )"
        r"(?P<name>(?=[A-Za-z.]{0,63}[\d-])[A-Za-z][\w.-]{1,253}\w)",
    ),
    *kind("host", r"\\", r"(?<![\w\\:.)])\\\\(?P<name>[A-Za-z][\w.-]{1,62})(?=\\[^\\\s])"),
    *kind("host", "pod", r"(?P<keep>\bpods?[ /=:]{1,2})(?P<name>[a-z0-9-]{1,200}-[a-z0-9]{5})\b"),
    *kind("host", "i-", r"(?<![\w-])(?P<name>i-(?:[0-9a-f]{17}|[0-9a-f]{8}))(?![\w-])"),
    *kind("account", "arn:", r"(?P<keep>\barn:aws[\w:*-]{1,99}:)(?P<name>\d{12})(?!\d)"),
    *kind(
        "uuid",
        "gpu- mig-",
        r"(?P<keep>\b(?:GPU|MIG)-)(?P<name>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
    *kind("mac", ":", r"(?<![\w:.-])(?P<name>(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2})(?![\w:.-])"),
    # A repository that is cloned with a key; those of torch's own kin stay.
    *kind(
        "repository",
        "git@",
        r"(?P<keep>\bgit@[\w.-]{1,99}:)(?P<name>[\w.-]{1,99}/[\w./-]{1,199}\w)",
    ),
    # ``threading.local`` is no host: the name needs a digit or a hyphen.
    *kind(
        "host",
        "ip- .local .lan .internal .corp .intra .amazonaws .cluster",
        r"(?<![\w.-])(?P<name>ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,6}"
        r"|(?=[A-Za-z]{0,63}[\d-])[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}"
        r"\.(?:local|lan|internal|corp|intra|localdomain|amazonaws\.com|cluster)(?![\w.-]*\w))",
    ),
    # ``x@self.net`` is a matrix product, ``x@w.to(y)`` another one.
    *kind(
        "mail",
        "@",
        r"(?<![\w.+-])(?P<name>(?!self\.|cls\.)[\w.+-]{1,64}@(?!self\.|cls\.)[\w-]{1,63}"
        r"(?:\.[\w-]{1,63}){0,4}"
        rf"\.(?:{_DOMAINS}|[a-z]{{2}}))(?![\w(\[.-]*[\w(\[])",
        r"(?<=<)(?P<name>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?=>)",
        r"(?P<keep>(?i:e?mail(?:to)?)['\"]?[=:] ?['\"]?)"
        r"(?P<name>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})",
    ),
    *kind(
        "login",
        "@",
        r"(?<![\w.+/-])(?P<name>[A-Za-z_][\w.-]{0,62}@(?!self\b|cls\b)"
        r"(?:[A-Za-z][A-Za-z0-9]{0,62}-[A-Za-z0-9-]{1,62}|[A-Za-z][\w.-]{0,100}(?=:[~/]|[:$]\s)))"
        r"(?![\w(])",
        r"(?P<keep>\b(?:ssh|scp|rsync|sftp) )(?P<name>[\w.-]{1,63}@[\w.-]{1,255})",
    ),
    # Four numbers behind ``==`` or ``version`` are a version.
    *kind(
        "ip",
        ".",
        r"(?<![\w.])(?<![=<>~]=)(?<![vV]ersion )(?!127\.|0\.0\.0\.0|255\.)"
        rf"(?P<name>{_BYTE}\.{_BYTE}\.{_BYTE}\.{_BYTE})(?![\w.]*\w)",
    ),
    *kind(
        "ip",
        ":",
        r"(?<![\w:])(?P<name>(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
        r"|(?:[23][0-9A-Fa-f]{3}|[fF][cdCD][0-9A-Fa-f]{2}|[fF][eE]80)(?::[0-9A-Fa-f]{0,4}){2,7})"
        r"(?![\w:])",
    ),
)
