package ql

var beginVerb = verb{
	name: "begin", parse: parseBegin,
	help: helpTopic{
		also: []string{"batch"}, summary: "put and delete several rows as one",
		syntax: "begin\nput .. | delete ..\ncommit | abort",
		text: "All puts and deletes between begin and commit take effect at once, or not at all; abort drops them.\n" +
			"A script that ends without commit is an error and has written nothing of its batch.\n" +
			"Reads are refused in a batch, and so are incr, append and cas: nothing is written before commit.",
		examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "delete fleet plane#TF-FIX", "commit"},
	},
}

// Begin opens a batch: puts and deletes up to Commit take effect together.
type Begin struct{ Node }

func (st *Begin) print(w *printer) {
	w.words("begin")
}

func parseBegin(*parser) (Statement, error) { return &Begin{}, nil }

var commitVerb = verb{
	name: "commit", parse: parseCommit,
	help: helpTopic{
		summary: "write the batch that begin opened",
		syntax:  "commit", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "commit"},
	},
}

// Commit writes the batch.
type Commit struct{ Node }

func (st *Commit) print(w *printer) {
	w.words("commit")
}

func parseCommit(*parser) (Statement, error) { return &Commit{}, nil }

var abortVerb = verb{
	name: "abort", parse: parseAbort,
	foreign: []spelling{{"rollback", parseAbort}},
	help: helpTopic{
		summary: "drop the batch that begin opened",
		syntax:  "abort", text: "See help begin.", examples: []string{"begin", "put fleet plane#TF-FIS meta:model=757-223", "abort"},
	},
}

// Abort drops the batch.
type Abort struct{ Node }

func (st *Abort) print(w *printer) {
	w.words("abort")
}

func parseAbort(*parser) (Statement, error) { return &Abort{}, nil }
