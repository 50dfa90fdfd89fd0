"""What the tests of the prose know of English: whether a sentence has a verb, and openings that never have one.

A word counts as a verb if it is a finite form of a verb below and does not stand where only a noun can: behind an article, a
preposition or a number, or before "of". So a noun heap is found, and no sentence is blamed for a verb that can be a noun.
"""
import re

# A sentence, not a note behind code, that begins so has no verb of its own.
VERBLESS = re.compile(r"(?:Of|Whether|The same of|As above|0,|0;|-1,|-1:|NULL:|False:|True:)(?: |$)|(?:0|NULL|False|True)\.?$")
# What a function returns, told behind a full stop without "Returns".
TOLD = re.compile(r"\. (?:0, or -1|0 or -1|0; -1|NULL: |True: |False: )")

FINITE = set("""am is isn't are aren't was were be has have had do does did can cannot could may might must shall should will would
    became began came gave kept knew left lost made met ran said saw sent stood told took went wrote""".split())
VERBS = """accept add advance agree allow answer append apply arrive ask attach bear become begin belong bind block bring
    build calibrate call cancel carry cause change check choose cite claim clean close collect come compare compete compile
    complete compute concern connect consist contain continue contradict convert copy cost count cover create cross cut
    decide declare delay delete depend describe deserve differ divide draw drop end ensure enter equal estimate exceed
    exchange exclude execute exist exit expect explain export extract fail fall fetch fill find finish fit fix fold follow forget
    form format free gain gather get give go grow guess hand handle hang happen hide hold ignore imply import include ingest
    insert install join judge jump keep kill know label lack last lead learn leave let lie limit link list listen live load
    look lose lower make map mark match matter mean measure meet merge miss mix move name need note number offer open order
    overflow overtake own pack pad pair park pass pay perform pick place play point post predict prefer print probe produce
    promise prove pull push put raise reach read rebuild receive recognise record reduce refer refine refuse register
    release remain remove repeat replace replay report reserve respect rest restart return run sample save say score search
    see seem select send serve set settle share shift show sit skip sort span speak spend spin split spread stand start
    state stay step stop store submit suffice sum support swallow switch tag take tell tend test think throw touch trace
    transfer treat try turn unify unite use vary verify visit wait want warn watch weigh widen work wrap write yield""".split()
# Behind these a noun stands, behind the second ones without an -s, behind the third with one.
DETERMINERS = set("""the its their his her our your my no any some all first last next own new single more most of in on at by for
    from with without over under between into per as than like""".split())
SINGULAR = set("a an this that one each every such".split())
PLURAL = set("these those two three four five ten both many few".split())
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*|\d[\d.,]*|[^\sA-Za-z\d]")


def third_person(verb):
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeou" else verb + "s"


BASES, THIRDS = set(VERBS), {third_person(verb) for verb in VERBS}
WITH_OF = {form for verb in ("consist", "know", "think", "speak", "tell", "say") for form in (verb, third_person(verb))}


def has_verb(sentence):
    words = [word.lower() for word in WORD.findall(sentence)]
    for before, word, behind in zip([""] + words, words, words[1:] + [""]):
        if word in FINITE:
            return True
        is_verb = (word in BASES and before not in SINGULAR) or (word in THIRDS and before not in PLURAL)
        if is_verb and before not in DETERMINERS and before != "-" and (behind != "of" or word in WITH_OF):
            return True
    return False


for sentence in ("It is so.", "Returns the rank.", "Ranks wait.", "says it", "Models know of none.", "How many nodes share it?", "This holds.",
                 "These wait."):
    assert has_verb(sentence), sentence
for sentence in ("Whole rounds.", "The cost of a message.", "Costs of two calls, in the order of the ranks", "Each with its own name:",
                 "Sums of the report.", "The ones without a wait.", "A place, these places."):
    assert not has_verb(sentence), sentence
