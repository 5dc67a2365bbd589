"""The live room: run the workload again, record it, change one thing, compare.

Only here is torch used, and only in child processes. What stands in a log is never executed.

=====================  ===========================================================================
``process``            a child in its own process group, with limits; its output, pumped
``process_tree``       everything that a child started, found again
``watchdog``           ends a child when tracelens is killed
``inject/``            what runs inside the child before the program: settings, step times, traces
``injection``          the environment that makes a child load it
``steps``              what the child's processes told: steps, compilations, facts
``recording``          a run with everything switched on, into one bundle directory
``splitting``          what of a program's output is its own, and what torch and oneDNN log
``logfile``            a log that is written through, with a head and a tail
``notebook``           the same for a part of a running program: ``tracelens.recording``
``bootstrap``          settings for a program, by hand
``environment``        what there is to know about the machine, for ``environment.json``
``workload``           what can be run: the user's command, an entry, a program of our own
``micro/``             small programs from typed evidence, one module per kind
``statistics``         medians, bootstrap, A/A: is an effect real
``load``               how busy the processors are with others' work
``conditions``         under which conditions runs were made, in words
``lab``                sides, blocks, caches: the protocol
``early``              what is enough of a timed run
``ending``             how a run ended, in words
``runs``               what runs showed, as plain data
``run_cache``          runs that are kept from call to call
``verdicts``           both halves of a verdict, joined: pure functions
``logcode``            generated code out of a log, on the user's explicit word only
``confirming``         findings -> experiments -> verdicts
``api``                the same from Python: ``tracelens.confirm``
``exploring``          the standard levers on one workload
``repro``              the script that shows a finding
=====================  ===========================================================================
"""
