package shell

import "strings"

// foreignCommands are commands of sqlite3, duckdb and psql, and their counterparts here.
var foreignCommands = [][2]string{
	{`.databases .database \l .dbinfo`, "a database is a directory: .open DIR opens another one, .tables lists the tables"},
	{`.dump .fullschema`, "export T to 'FILE' writes a table, .schema the statements that make the tables"},
	{`.headers .header .width .separator .nullvalue .rows .columns .maxrows .maxwidth`, ".mode FORMAT says how rows are shown: .mode csv has a header, .mode quiet shows nothing"},
	{`.import \copy`, "import T from 'FILE' loads a file, export T to 'FILE' writes one"},
	{`.save .backup .clone .archive`, "backup to 'DIR' keeps a copy, checkpoint 'DIR' makes one that opens at once"},
	{`.restore`, "restore to 'DIR' brings a backup back"},
	{`.indexes .indices .index \di`, "there are no indexes: rows are in the order of their keys; describe T shows a table"},
	{`.show .parameter .set \set`, "each setting shows itself: .mode, .limit, .versions, .timezone, .pager, .color"},
	{`.timer`, ".timing on says how long statements take"},
	{`.shell .system \!`, ".output | COMMAND sends results to a command"},
	{`.print`, "results are shown as they come; .echo on shows the statements of a script"},
	{`.cd`, "paths begin where smolwc was started; .open DIR opens another database"},
	{`.clear .cls`, "Ctrl-L clears the screen"},
	{`.edit \e`, "the arrow up brings the last statement back, Ctrl-R searches"},
	{`\g \p \r \w`, "Enter runs a statement, and ; a query; .history shows those before"},
	{`\dv .views`, "views lists the views"},
	{`\df .functions`, "help sql, and docs/sql-functions.md, list the functions of queries"},
	{`\du \dn \dp`, "there are no users and no schemas in the shell; .tables lists the tables"},
	{`.explain .eqp`, "explain STATEMENT shows what a statement reads"},
	{`.log .trace`, ".stats on says what each get, scan and count cost"},
}

// insteadOf says what to type in place of a command of another shell; "": there is no such command.
func insteadOf(word string) string {
	for _, c := range foreignCommands {
		for of := range strings.FieldsSeq(c[0]) {
			if of == word {
				return c[1]
			}
		}
	}
	return ""
}

// otherModes are formats of sqlite3 and duckdb, and those that are like them.
var otherModes = map[string]string{
	"box": "table", "column": "table", "columns": "table", "duckbox": "table", "ascii": "table", "list": "csv", "tabs": "tsv",
	"lines": "line", "vertical": "line", "jsonlines": "jsonl", "ndjson": "jsonl", "md": "markdown", "insert": "jsonl", "html": "markdown", "trash": "quiet", "expanded": "line",
}
