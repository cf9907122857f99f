// The box for statements is CodeMirror's. It writes its text and its caret into the field q,
// which the form sends, and which is the box itself in a browser without scripts.
"use strict";
(() => {
  const field = document.getElementById("q");
  if (!field) return;
  const { words, functions, nonce } = field.form.dataset;
  const known = { words: new Set(words.split(" ")), functions: new Set(functions.split(" ")) };

  // Colours for the language and for SQL, word by word: both are read in full by the server only.
  const upTo = (stream, state) => {
    if (stream.skipTo(state.end)) { stream.match(state.end); state.end = ""; } else stream.skipToEnd();
    return state.kind;
  };
  const language = CM.StreamLanguage.define({
    startState: () => ({ end: "", kind: "" }),
    languageData: { commentTokens: { line: "-- " } },
    token: (stream, state) => {
      if (state.end) return upTo(stream, state);
      if (stream.eatSpace()) return null;
      if (stream.match(/^--(?=\s|$)/)) { stream.skipToEnd(); return "comment"; }
      for (const [begin, end, kind] of [["/*", "*/", "comment"], ['"""', '"""', "string"], ["'''", "'''", "string"]]) {
        if (stream.match(begin)) { Object.assign(state, { end, kind }); return upTo(stream, state); }
      }
      if (stream.match(/^[rb]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/i)) return "string";
      if (stream.match(/^`[^`]*`?/)) return "variableName";
      if (stream.match(/^[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![^\s(),;<>=\[\]])/i)) return "number";
      const word = stream.match(/^[^\s"'`(),;<>=\[\]]+/);
      if (!word) { stream.next(); return null; }
      const name = word[0].toLowerCase();
      if (stream.peek() === "(" && known.functions.has(name)) return "name.function";
      if (known.words.has(name)) return "keyword";
      return /^[\p{L}_][\p{L}\p{N}_-]*:/u.test(name) ? "propertyName" : null;
    },
  });
  const t = CM.tags;
  const colours = CM.HighlightStyle.define([
    { tag: t.keyword, class: "keyword" }, { tag: t.string, class: "text" }, { tag: t.number, class: "number" },
    { tag: t.comment, class: "comment" }, { tag: t.function(t.name), class: "function" }, { tag: t.propertyName, class: "column" },
  ]);

  // The words with which the statement under the caret may go on.
  const propose = async (context) => {
    const before = statementAt(context.state.sliceDoc(0, context.pos), context.pos);
    if (!before.trim() && !context.explicit || before.length > 4000) return null;
    const asked = new AbortController();
    context.addEventListener("abort", () => asked.abort());
    try {
      const answer = await fetch("/query/complete?" + new URLSearchParams({ q: before }), { signal: asked.signal, redirect: "error" });
      const found = await answer.json(), typed = before.slice(found.begin).trimEnd();
      if (!view.hasFocus) return null; // a late list would cover the buttons
      const options = found.words.filter((w) => w.word.trimEnd() !== typed);
      return { from: context.pos - before.length + found.begin, filter: false, options: options.map((w) => ({ label: w.word, detail: w.form })) };
    } catch { return null; } // a newer question, or no server
  };
  const take = (view) => {
    if (CM.completionStatus(view.state) !== "active") return false;
    if (CM.selectedCompletionIndex(view.state) === null) CM.moveCompletionSelection(true)(view);
    return CM.acceptCompletion(view);
  };

  const view = new CM.EditorView({
    doc: field.value,
    extensions: [
      CM.EditorView.cspNonce.of(nonce),
      CM.keymap.of([{ key: "Mod-Enter", run: () => { field.form.requestSubmit(); return true; } }, { key: "Tab", run: take }, ...CM.defaultKeymap, ...CM.historyKeymap]),
      CM.history(), CM.bracketMatching(), CM.EditorView.lineWrapping, language, CM.syntaxHighlighting(colours),
      CM.autocompletion({ override: [propose], selectOnOpen: false, interactionDelay: 0, icons: false, activateOnCompletion: () => true }),
      CM.EditorView.contentAttributes.of({ id: "statement", "aria-labelledby": "statement-label", "aria-describedby": "keys", dir: "ltr", spellcheck: "false", autocapitalize: "off" }),
      CM.EditorView.updateListener.of((u) => {
        if (u.docChanged) field.value = u.state.doc.toString();
        if (u.docChanged || u.selectionSet) field.setSelectionRange(u.state.selection.main.from, u.state.selection.main.head);
      }),
    ],
  });
  field.before(view.dom);
  field.className = "hidden";
  field.tabIndex = -1;
  field.required = false; // a browser would point at a field that nobody sees
  field.ariaHidden = "true";
  field.addEventListener("focus", () => view.focus());
  field.addEventListener("input", () => {
    if (field.value !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: field.value }, selection: { anchor: field.value.length } });
  });
})();
