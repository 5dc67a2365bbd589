"""Chrome traces: read in bounded memory, counted by name, measured while they pass by.

``reader`` turns bytes into lists of typed ``events``, ``damage`` does so where the text is broken;
``names`` counts and times them by name, ``operators`` follows what runs inside what, ``device``
what is busy when; ``reading`` drives them all and fills the evidence with names for the grammar and
with the records of ``measured``.
"""
