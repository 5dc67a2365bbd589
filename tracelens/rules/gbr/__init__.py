"""Rules about graph breaks: what Dynamo could not trace, where, and what to write instead."""
