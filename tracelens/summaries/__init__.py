"""Tables of a report that need more than the records of one log kind.

One module per log kind, of the same name, with one function ``tables``; what needs nothing but the
kind's own records is ``Log.tables``.
"""
