// The parts of CodeMirror that static/editor.js uses.
export { EditorView, keymap } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { autocompletion, acceptCompletion, completionStatus, moveCompletionSelection, selectedCompletionIndex } from "@codemirror/autocomplete";
export { StreamLanguage, syntaxHighlighting, HighlightStyle, bracketMatching } from "@codemirror/language";
export { tags } from "@lezer/highlight";
