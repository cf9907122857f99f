// Puts the pages of docs/site/search.txt first among mdBook's hits. elasticlunr knows no
// synonyms, and takes no account of words such as "or" and "like". firstHits, above, is the
// table: words to places, with = before words that must be the whole search.
(() => {
  const search = elasticlunr.Index.prototype.search;
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}.-]+/gu) || [];

  // places of a search, the longest word first
  function places(query) {
    const asked = words(query).join(" ");
    return Object.keys(firstHits)
      .filter((w) => w[0] === "=" ? asked === w.slice(1) : ` ${asked} `.includes(` ${w} `))
      .sort((a, b) => b.length - a.length)
      .map((w) => firstHits[w]);
  }

  elasticlunr.Index.prototype.search = function (query, options) {
    let hits = search.call(this, query, options);
    for (const place of places(query).reverse()) {
      const ref = window.search.doc_urls.indexOf(place);
      if (ref >= 0) {
        const doc = this.documentStore.getDoc(String(ref));
        hits = [{ ref: String(ref), score: Infinity, doc }, ...hits.filter((h) => h.ref !== String(ref))];
      }
    }
    return hits;
  };
})();
