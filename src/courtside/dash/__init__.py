"""Run folders as a page to look at: what lies in them becomes views, and a small web server shows those. Read-only on runs.

`lines` reads files that grow, `cards` and `details` say what there is to see of a run, `server` answers a browser. Only `replays`
and `stages`, which play and draw, need JAX; they are loaded when somebody asks for that.
"""
