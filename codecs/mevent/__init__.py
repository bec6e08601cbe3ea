"""mevent: requests and replies with typed variables, over UDP, TCP, SCTP and TIPC.

Source: the mevent protocol text (request head and body, reply). Deployed software differs from it: its type
numbers are others (`dialect` "deployed": ULONG 2, STRING 3, ARRAY 4), over TCP each message follows a 4-byte
length that counts itself (`prefix`), the old client leaves the end marker out, a failed send is a reply with
a bare error code, and a string named `root` holds HDF text (hdf.py). All integers are big-endian.

Where a message without prefix ends: a request at its end marker, or, if that is missing, before the next
request's head or at the end of the input; a reply after its val, or after its code if no val follows. Type
numbers are those under which the message decodes whole; the text's if both do.
"""
