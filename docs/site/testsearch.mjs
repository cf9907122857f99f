// Searches a built site as its page does: node testsearch.mjs SITE reads a search a line, and
// prints the place of its first hit.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const site = process.argv[2];
const read = (begin) => readFileSync(join(site, readdirSync(site).find((f) => f.startsWith(begin) && f.endsWith(".js"))), "utf8");
const page = vm.createContext({ search: {} });
page.window = page;
vm.runInContext(read("elasticlunr"), page);
vm.runInContext(read("searchindex"), page);
vm.runInContext(read("search-"), page);
page.run = vm.runInContext("(q) => { const i = window.index ||= elasticlunr.Index.load(window.search.index); return (h => h[0] ? window.search.doc_urls[h[0].ref] : '')(i.search(q, window.search.search_options)); }", page);
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) console.log(page.run(line));
