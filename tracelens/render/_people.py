"""What names people: their homes, their folders, their logins."""

from __future__ import annotations

from tracelens.render._kinds import kind

__all__ = ["FOLDERS", "SITE", "STRONG"]

#: A variable of a shell is nobody's name.
_NAME = r"(?P<name>(?![$%])[^\s/\\:;,'\"()\[\]{}<>|=@]{1,64})"

#: Contexts in which a name is certainly a person's: it is then replaced everywhere.
STRONG = (
    *kind(
        "home",
        "/home/ /users/",
        r"(?<![\w.~-])(?:[A-Za-z]:)?(?:/[\w.-]{1,40}){0,4}/(?:home|[Uu]sers)/" + _NAME,
    ),
    *kind("home", "/afs/", r"(?<![\w.~-])/afs/[\w.-]{1,60}/u(?:sers?)?/(?:[a-z]/){0,2}" + _NAME),
    # Of Linux below Windows: ``\\wsl$\Ubuntu\home\ana``.
    *kind("home", "home\\", r"(?:[\\]{1,2}[\w.$-]{1,40}){0,4}[\\]{1,2}home[\\]{1,2}" + _NAME),
    *kind(
        "user",
        "~",
        r"(?:^|(?<=[\s'\"=:(]))(?P<keep>~)(?P<name>[A-Za-z][\w-]{2,31})(?=/[\w.-]{1,99}[/.])",
    ),
    *kind(
        "user",
        "logged",
        r"(?P<keep>(?i:logged in (?:to [\w.:/-]{1,99} )?as:? ))(?P<name>[\w][\w.-]{1,63}(?<!\.))",
        r"(?P<keep>(?i:logged in as:? )[\w.-]{1,63} \()(?P<name>[\w.-]{2,63})(?=\))",
    ),
    *kind(
        "home",
        r"users\ users/",
        r"(?<!\w)[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2}(?P<name>[^\\/:*?\"'<>|\r\n]{1,64})(?=[\\/])",
    ),
    *kind("user", "/torchinductor_", r"(?P<keep>/torchinductor_)" + _NAME),
    *kind(
        "user",
        "user logname",
        r"(?P<keep>(?<![\w.])(?:USER|LOGNAME|USERNAME|SUDO_USER|user|username|login)['\"]?"
        r"(?:=|: )['\"]?)(?P<name>(?!\d|self\b|None\b)[\w][\w.-]{1,63})(?![\w(\[])",
    ),
    *kind(
        "folder",
        "/scratch/ /lustre/ /gpfs/ /nfs/ /beegfs/ work/ /data/",
        r"(?P<keep>(?<![\w.~-])/(?:scratch|lustre|gpfs|nfs|beegfs|work|data)(?:/(?:users|scratch|work))?/)"
        r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@.]{1,64})(?=/)",
    ),
)
#: The same, where it may as well be a project's: replaced in this place alone.
FOLDERS = kind(
    "folder",
    "workspace/ /mnt/ /u/",
    r"(?P<keep>(?<![\w.~-])/(?:workspace|mnt/data|mnt/work|mnt/scratch|u)/)"
    r"(?P<name>[^\s/\\:;,'\"()\[\]{}<>|=@.]{1,64})(?=/)",
)
SITE = tuple(
    kind(
        "site",
        "-packages",
        # A comment of a guard has lost the beginning of its path: ``# me/ana/v/lib/site-packages``.
        r"(?P<name>(?<![\w.~-])(?:/|~/|[A-Za-z]:[\\/]|(?<![\\/])(?=\w))[^\s'\"<>|:;,()]{0,250}?"
        r"[\\/](?:site|dist)-packages)(?![\w-])",
    )
)
