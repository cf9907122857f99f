package ql

import (
	"strings"

	"github.com/smolwc/smolwc/ql/lex"
)

// A Queue is the table of a queue and the zone that a statement is about.
type Queue struct {
	In   Name // its Text is "" if not given
	Zone Name // its Text is "" if not given
}

// Items say how many items of a queue a list shows.
type Items struct {
	Queue
	Limit  int    // 0: not given
	Format string // one of Formats; "": not given
}

var queuesVerb = verb{
	name: "queues", parse: parseQueues,
	help: helpTopic{
		summary: "the items of the queues by zone and type",
		syntax:  "queues [ZONE] [in T] [as FORMAT]",
		text: "A queue has zones with items: see docs/queues.md. Ready items can be taken, delayed ones later, and blocked ones wait for their key.\n" +
			"Expired items had a worker that did not end them in time; dead ones are not taken again. oldest is how long the oldest ready item has waited.\n" +
			"settings are those of the zone, if there are some. The items are counted one by one: that takes a second for a million.\n" +
			"Queues are in the table queues, or in the one that in names. Statements show queues without a prefix of row keys only.",
		examples: []string{"queues", "queues acme", "queues in queues as json"},
	},
}

// Queues shows the items of a queue by zone and type.
type Queues struct {
	Node
	Queue
	Format string // one of Formats; "": not given
}

func (st *Queues) print(w *printer) {
	w.words("queues")
	w.queue(st.Queue)
	w.as(st.Format)
}

func parseQueues(p *parser) Statement { return &Queues{Queue: p.queue(false), Format: p.as()} }

var peekVerb = verb{
	name: "peek", parse: parsePeek,
	help: helpTopic{
		summary: "the next items of a zone",
		syntax:  "peek ZONE [limit=N] [in T] [as FORMAT]",
		text: "Shows the items that can be taken now, in their order, and takes none of them. limit= is 100 by default.\n" +
			"visible is since when an item can be taken.",
		examples: []string{"peek acme", "peek acme limit=5 as jsonl"},
	},
}

// Peek shows the items of a zone that can be taken, the next one first.
type Peek struct {
	Node
	Items
}

func (st *Peek) print(w *printer) { w.items("peek", st.Items) }

func parsePeek(p *parser) Statement { return &Peek{Items: p.items(true)} }

var deadVerb = verb{
	name: "dead", parse: parseDead,
	help: helpTopic{
		summary: "the dead letters of a queue",
		syntax:  "dead [ZONE] [limit=N] [in T] [as FORMAT]",
		text: "Dead letters are items whose attempts are used up, or that failed for good. They stay until requeue or cancel.\n" +
			"Those of a zone are shown with the oldest first. limit= is 100 by default.",
		examples: []string{"dead", "dead acme limit=5"},
	},
}

// DeadLetters shows the dead letters of a zone, or of all zones.
type DeadLetters struct {
	Node
	Items
}

func (st *DeadLetters) print(w *printer) { w.items("dead", st.Items) }

func parseDead(p *parser) Statement { return &DeadLetters{Items: p.items(false)} }

var itemVerb = verb{
	name: "item", parse: parseItem,
	help: helpTopic{
		summary: "one item of a queue, with its payload",
		syntax:  "item ZONE ID [in T] [as FORMAT]",
		text: "time is when a ready or blocked item became or becomes visible, when a lease expires, or when the item died or was done.\n" +
			"peek and dead show ids.",
	},
}

// ShowItem shows an item with its whole payload.
type ShowItem struct {
	Node
	Queue
	ID     Name // of the item
	Format string
}

func (st *ShowItem) print(w *printer) {
	w.words("item")
	w.item(st.Queue, st.ID)
	w.as(st.Format)
}

func parseItem(p *parser) Statement {
	st := &ShowItem{}
	st.Queue, st.ID = p.item("the id of an item")
	st.Format = p.as()
	return st
}

var requeueVerb = verb{
	name: "requeue", parse: parseRequeue,
	help: helpTopic{
		summary: "have dead letters taken again",
		syntax:  "requeue ZONE ID|all [in T]",
		text: "A dead letter can be taken again now, with all its attempts. An item that waits, for instance after an error, can be taken now.\n" +
			"all is all dead letters of the zone. A dead letter stays if another item has its unique key.",
		examples: []string{"requeue acme all"},
	},
}

// Requeue makes a dead letter or a delayed item visible now, or all dead letters of a
// zone.
type Requeue struct {
	Node
	Queue
	ID  Name // of the item; its Text is "" for all
	All bool
}

func (st *Requeue) print(w *printer) {
	w.words("requeue")
	if !st.All {
		w.item(st.Queue, st.ID)
		return
	}
	w.words(QuoteWord(st.Zone.Text), "all")
	w.inTable(st.In)
}

func parseRequeue(p *parser) Statement {
	st := &Requeue{}
	st.Queue = p.zone(Queue{In: p.inTable(Name{})})
	if st.All = p.acceptWord("all"); !st.All {
		st.ID = p.itemNamed(st.Zone, "the id of an item, or all")
	}
	st.In = p.inTable(st.In)
	return st
}

var cancelVerb = verb{
	name: "cancel", parse: parseCancel,
	help: helpTopic{
		summary: "remove an item of a queue, or end a call of a server",
		syntax:  "cancel ZONE ID [in T]\ncancel call N",
		text: "Removes the item for good, whatever its state. drain removes all items of a zone that wait.\n" +
			"cancel call ends a call under way, whose number calls shows. Its client gets the error CANCELLED, which says who has\n" +
			"cancelled the call. What the call has written stays. It needs a server, with --addr.",
	},
}

// CancelItem removes an item.
type CancelItem struct {
	Node
	Queue
	ID Name // of the item
}

func (st *CancelItem) print(w *printer) {
	w.words("cancel")
	if strings.EqualFold(st.Zone.Text, "call") { // not the word of cancel call
		w.words(lex.QuoteText(st.Zone.Text), QuoteWord(st.ID.Text))
		w.inTable(st.In)
		return
	}
	w.item(st.Queue, st.ID)
}

func parseCancel(p *parser) Statement {
	p.wantOneOf(ExpectKeyword, "call")
	if id, ok := p.callID(); ok {
		p.next()
		p.next()
		return &CancelCall{ID: id}
	}
	st := &CancelItem{}
	st.Queue, st.ID = p.item("the id of an item")
	return st
}

var drainVerb = verb{
	name: "drain", parse: parseDrain,
	help: helpTopic{
		summary: "remove the waiting items of a zone",
		syntax:  "drain ZONE [in T] [yes]",
		text: "Removes ready, delayed and blocked items for good. Leased items and dead letters stay.\n" +
			"It asks first on a terminal and needs yes in scripts.",
		examples: []string{"drain acme yes"},
	},
}

// Drain removes the waiting items of a zone.
type Drain struct {
	Node
	Queue
	Yes bool // do not ask
}

func (st *Drain) print(w *printer) {
	w.words("drain")
	w.queue(st.Queue)
	w.flag("yes", st.Yes)
}

func parseDrain(p *parser) Statement { return &Drain{Queue: p.queue(true), Yes: p.acceptWord("yes")} }

var pauseVerb = verb{
	name: "pause", parse: parsePause,
	help: helpTopic{
		summary:  "keep the items of a zone from being taken",
		syntax:   "pause ZONE [in T]",
		text:     "Items that workers have already taken are not concerned. resume ends the pause, and queues shows it.",
		examples: []string{"pause acme", "resume acme"},
	},
}

var resumeVerb = verb{
	name: "resume", parse: parseResume,
	help: helpTopic{
		summary: "end the pause of a zone",
		syntax:  "resume ZONE [in T]", text: "See help pause.", examples: []string{"resume acme"},
	},
}

// PauseZone pauses a zone.
type PauseZone struct {
	Node
	Queue
}

func (st *PauseZone) print(w *printer) {
	w.words("pause")
	w.queue(st.Queue)
}

func parsePause(p *parser) Statement { return &PauseZone{Queue: p.queue(true)} }

// ResumeZone ends the pause of a zone.
type ResumeZone struct {
	Node
	Queue
}

func (st *ResumeZone) print(w *printer) {
	w.words("resume")
	w.queue(st.Queue)
}

func parseResume(p *parser) Statement { return &ResumeZone{Queue: p.queue(true)} }

var schedulesVerb = verb{
	name: "schedules", parse: parseSchedules,
	help: helpTopic{
		summary:  "the schedules of a queue",
		syntax:   "schedules [in T] [as FORMAT]",
		text:     "A schedule has an item enqueued again and again, next at the time shown.",
		examples: []string{"schedules"},
	},
}

// Schedules shows the schedules of a queue.
type Schedules struct {
	Node
	In     Name // its Text is "" if not given
	Format string
}

func (st *Schedules) print(w *printer) {
	w.words("schedules")
	w.inTable(st.In)
	w.as(st.Format)
}

func parseSchedules(p *parser) Statement { return &Schedules{In: p.inTable(Name{}), Format: p.as()} }

// queue parses [in T] [ZONE] [in T].
func (p *parser) queue(needsZone bool) Queue {
	q := Queue{In: p.inTable(Name{})}
	if p.wantKind(ExpectZone); needsZone || p.atName() {
		q = p.zone(q)
	}
	q.In = p.inTable(q.In)
	return q
}

// items parses [in T] [ZONE] [limit=N] [in T] [as FORMAT].
func (p *parser) items(needsZone bool) Items {
	list := Items{Queue: p.queue(needsZone), Limit: p.itemLimit()}
	list.In = p.inTable(list.In)
	list.Format = p.as()
	return list
}

// item parses [in T] ZONE ID [in T].
func (p *parser) item(what string) (Queue, Name) {
	q := p.zone(Queue{In: p.inTable(Name{})})
	id := p.itemNamed(q.Zone, what)
	q.In = p.inTable(q.In)
	return q, id
}

// zone parses the name of a zone.
func (p *parser) zone(q Queue) Queue {
	p.wantKind(ExpectZone)
	if !p.atName() {
		panic(p.unexpected("a zone of the queue"))
	}
	q.Zone = p.name("a zone of the queue")
	return q
}

func (p *parser) itemNamed(zone Name, what string) Name {
	p.want(Expectation{Kind: ExpectItem, Zone: zone.Text})
	if !p.atName() {
		panic(p.unexpected("%s", what))
	}
	return p.name(what)
}

// atName reports whether the next token is a word that no clause begins with.
func (p *parser) atName() bool { return p.atPath() && !p.atOption(0) }

// itemLimit parses limit=N. It returns 0 if no limit is given.
func (p *parser) itemLimit() int {
	if !p.acceptOption("limit") {
		return 0
	}
	return p.upTo(1, maxItems)
}

// maxItems bounds the items of a list, which are held in memory.
const maxItems = 10_000

// QuoteWord returns a name as a word of the language that is not taken for the beginning
// of a clause.
func QuoteWord(name string) string {
	if lex.EndsPath(strings.ToLower(name)) {
		return lex.QuoteText(name)
	}
	return lex.QuoteKey(name)
}

func (w *printer) queue(q Queue) {
	w.flag(QuoteWord(q.Zone.Text), q.Zone.Text != "")
	w.inTable(q.In)
}

func (w *printer) items(verb string, list Items) {
	w.words(verb)
	w.queue(list.Queue)
	w.number("limit", list.Limit)
	w.as(list.Format)
}

func (w *printer) item(q Queue, id Name) {
	word := QuoteWord(id.Text)
	if strings.EqualFold(id.Text, "all") {
		word = lex.QuoteText(id.Text)
	}
	w.words(QuoteWord(q.Zone.Text), word)
	w.inTable(q.In)
}
