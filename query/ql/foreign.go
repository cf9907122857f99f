package ql

import (
	"slices"

	"github.com/smolwc/smolwc/query/ql/lex"
)

// What cbt and the HBase shell have and smolwc has not: what it does instead, or
// that it does without.

// foreignVerbs says what to write instead of verbs known from elsewhere that
// have no statement of the same meaning.
var foreignVerbs = map[string]string{
	"select": "scan T columns=.. where COL == VALUE reads rows",
	"insert": "put T KEY FAM:QUAL=VALUE writes a row",
	"update": "put T KEY FAM:QUAL=VALUE writes a row",
	"show":   "tables lists the tables",
	"use":    ".use T chooses the table",

	"disable":     "tables need not be disabled; drop table T and alter table T .. work at any time",
	"enable":      "tables need not be enabled; they are always",
	"is_enabled":  "tables are always enabled; describe T shows one",
	"is_disabled": "tables are always enabled; describe T shows one",
	"disable_all": "tables need not be disabled; drop table T drops one",
	"enable_all":  "tables need not be enabled; they are always",
	"drop_all":    "drop table T yes drops one table; tables lists them",

	"snapshot":         "backup to 'DIR' keeps a copy; checkpoint 'DIR' makes one that opens at once",
	"restore_snapshot": "restore brings a backup back",
	"clone_snapshot":   "restore brings a backup back",
	"list_snapshots":   "backups lists the backups",
	"list_namespace":   "there are no namespaces; tables lists the tables",
	"create_namespace": "there are no namespaces; a table may be called a.b",
	"drop_namespace":   "there are no namespaces; drop table T drops a table",
	"get_splits":       "one machine holds every table, and it is not split; stats T shows its files",
	"split":            "one machine holds every table, and it is not split",
	"balancer":         "one machine holds every table; there is nothing to balance",
	"get_table":        ".use T chooses the table to take when a statement leaves it out",
	"table_help":       "help lists the statements",
	"tools":            "help lists the statements",
	"whoami":           "the shell has no users: it runs as the one who opened the database",
	"grant":            "there are no users and no permissions; the files of the database have them",
	"revoke":           "there are no users and no permissions; the files of the database have them",
	"scan_meta":        "tables and describe T show what there is",

	"listinstances":           "a database is one directory, and has no instances; tables lists the tables",
	"createinstance":          "a database is one directory, which is made when it is opened",
	"deleteinstance":          "a database is one directory; remove that",
	"listclusters":            "a database is one directory, on one machine",
	"createcluster":           "a database is one directory, on one machine",
	"updatecluster":           "a database is one directory, on one machine",
	"deletecluster":           "a database is one directory, on one machine",
	"listappprofile":          "there are no application profiles",
	"createappprofile":        "there are no application profiles",
	"getappprofile":           "there are no application profiles",
	"updateappprofile":        "there are no application profiles",
	"deleteappprofile":        "there are no application profiles",
	"waitforreplication":      "there is no replication; what is acknowledged is there for every read",
	"createtablefromsnapshot": "restore brings a backup back",
	"createsnapshot":          "backup to 'DIR' keeps a copy",
	"listsnapshots":           "backups lists the backups",
	"doc":                     "help lists the statements",
	"mddoc":                   "help lists the statements",
	"notices":                 "the licences are with the source",
	"version":                 ".version shows it",
}

// ignored are options that cannot change what a statement gives: how another
// system is to fetch or to store.
var ignored = []string{
	"app-profile",                                                                                                                             // cbt
	"interval", "cache", "cache_blocks", "batch", "maxlength", "max_result_size", "isolation_level", "read_type", "attributes", "consistency", // HBase
}

// skipIgnored passes over an option that makes no difference here.
func (p *parser) skipIgnored() bool {
	if !p.atOption(0) || !slices.Contains(ignored, p.peek().Keyword()) {
		return false
	}
	p.foreign = true
	p.next()
	p.equals()
	p.skipValue()
	return true
}

// skipValue passes over a word, or what stands in brackets.
func (p *parser) skipValue() {
	depth := 0
	for !p.atEnd() {
		switch t := p.next(); {
		case t.Kind != lex.Mark:
		case t.Text == "{" || t.Text == "[":
			depth++
		case t.Text == "}" || t.Text == "]":
			depth--
		}
		if depth <= 0 {
			return
		}
	}
}

// foreignOptions says what to do instead of options that have no like here.
var foreignOptions = map[string]string{
	"authorized-view": "columns= and prefix= choose what is read",
	"format-file":     "a family's type= says what its values are; as FORMAT says how they are printed",
	"formatter":       "as FORMAT says how rows are printed",
	"formatter_class": "as FORMAT says how rows are printed",
	"raw":             "what is deleted is not kept; versions=all reads every version that there is",
	"metrics":         "stats, at the end of a scan, says what it cost",
	"authorizations":  "cells have no labels",
	"visibility":      "cells have no labels",
	"cell.limit":      "limit= bounds the rows and cells= the cells of each",
}

// columnPrefixOption takes Smoltable's column.prefix=fam:pre.
func (p *parser) columnPrefixOption(to *target) error {
	c, err := p.exactColumn()
	if err != nil {
		return err
	}
	if c.Kind = ColumnPrefix; c.Qualifier == "" {
		c.Kind = ColumnFamily
	}
	to.read.Columns = append(to.read.Columns, c)
	return nil
}

// includeStatsOption takes cbt's include-stats=full.
func (p *parser) includeStatsOption(to *target) error {
	_, err := p.text("full")
	to.read.Stats = true
	return err
}

// metricsOption takes HBase's ALL_METRICS => true.
func (p *parser) metricsOption(to *target) (err error) {
	t := p.peek()
	switch t.Keyword() {
	case "true", "false":
		p.next()
		to.read.Stats = t.Keyword() == "true"
		return nil
	}
	return p.unexpected("true or false")
}

// parseStatus parses HBase's status ['simple'].
func parseStatus(p *parser) (Statement, error) {
	for p.peek().Kind == lex.Word || p.atMark(",") {
		p.next()
	}
	return &Stats{}, nil
}
