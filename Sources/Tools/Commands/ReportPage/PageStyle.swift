/// The style of the page. Colours have the contrast that WCAG 2 asks at level AA, in both schemes.
enum PageStyle {
    /// In base64: a browser uses only a style with the hash in the policy of the page. ReportPageTests says which one a changed text has.
    static let sha256 = "dkVIIQz/QuZTAovCu5jY2Wn0XrixIq7tIk204EuYMA4="

    static let text: StaticString = """
        :root {
          color-scheme: light dark;
          --back: #ffffff; --text: #1c1c1e; --soft: #595961; --line: #c9c9d0; --band: #f3f3f6;
          --link: #0b57d0; --badge: #7a3b00; --badge-back: #ffefdc; --focus: #0b57d0;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --back: #17181c; --text: #ececf0; --soft: #b0b0ba; --line: #3c3d45; --band: #212228;
            --link: #8ab4ff; --badge: #ffc98a; --badge-back: #3d2b16; --focus: #8ab4ff;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.45 system-ui, sans-serif;
          overflow-wrap: break-word; }
        header, main, footer, nav { max-width: 100rem; margin: 0 auto; padding: 0.5rem 1.25rem; }
        h1 { font-size: 1.5rem; margin: 0.75rem 0 0.25rem; }
        h2 { font-size: 1.2rem; margin: 2rem 0 0.5rem; }
        h3 { font-size: 1rem; margin: 1.5rem 0 0.25rem; }
        p { margin: 0.35rem 0; max-width: 60rem; }
        code { font: 0.92em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
        a { color: var(--link); }
        :focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
        .skip { position: absolute; left: -100rem; }
        .skip:focus { left: 1rem; top: 0.5rem; background: var(--back); padding: 0.5rem; z-index: 2; }
        .soft, footer { color: var(--soft); }
        nav ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; }
        form { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; align-items: end; margin: 0.75rem 0; }
        form[hidden] { display: none; }
        label { display: block; color: var(--soft); font-size: 0.9rem; }
        input, select, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: 0.3rem;
          padding: 0.35rem 0.5rem; max-width: 100%; }
        button { cursor: pointer; }
        summary { cursor: pointer; padding: 0.2rem 0; }
        details ul { margin: 0.25rem 0 0.75rem; }
        table { border-collapse: collapse; width: 100%; }
        .wide { overflow-x: auto; }
        th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.5rem; border-bottom: 1px solid var(--line); font-weight: normal;
          overflow-wrap: anywhere; }
        thead th { font-weight: 600; background: var(--band); }
        #table th, #table td { min-width: 4.75rem; }
        #table thead th { position: sticky; top: 0; overflow-wrap: normal; }
        #table th[scope=rowgroup] { font-weight: 600; min-width: 9.5rem; }
        .d1 th[scope=rowgroup] { padding-left: 1.5rem; }
        .d2 th[scope=rowgroup] { padding-left: 2.4rem; }
        .d3 th[scope=rowgroup] { padding-left: 3.3rem; }
        .d4 th[scope=rowgroup] { padding-left: 4.2rem; }
        .d5 th[scope=rowgroup] { padding-left: 5.1rem; }
        .d6 th[scope=rowgroup] { padding-left: 6rem; }
        .more { display: block; font-weight: normal; color: var(--soft); font-size: 0.9rem; }
        .badge { display: inline-block; color: var(--badge); background: var(--badge-back); border-radius: 0.3rem; padding: 0 0.4rem;
          margin: 0 0.2rem 0.2rem 0; text-decoration: none; }
        .badge:hover { text-decoration: underline; }
        .fold { padding: 0 0.4rem; margin-right: 0.4rem; line-height: 1.2; }
        .yes { font-weight: 600; }
        .no { color: var(--soft); }
        #table th[scope=row], #table .c5, #table .c6 { min-width: 7rem; }
        #table .c7 { min-width: 5.75rem; }
        .look { border-top: 1px solid var(--line); }
        .look ol { margin: 0.25rem 0; }
        [hidden] { display: none; }
        @media (max-width: 75rem) {
          #table, #table tbody, #table tr, #table th, #table td { display: block; min-width: 0 !important; }
          #table thead { position: absolute; left: -100rem; }
          #table tbody { border: 1px solid var(--line); border-radius: 0.4rem; margin: 0 0 0.75rem; }
          #table tbody[hidden], #table tr[hidden] { display: none; }
          #table th, #table td { border: 0; padding: 0.15rem 0.6rem; }
          #table tr + tr { border-top: 1px solid var(--line); }
          #table th[scope=rowgroup] { background: var(--band); padding: 0.4rem 0.6rem; }
          #table th[scope=row] { font-weight: 600; padding-top: 0.4rem; }
          #table td { position: relative; padding-left: 8rem; min-height: 1.75rem; }
          #table td:empty { display: none; }
          #table td::before { color: var(--soft); position: absolute; left: 0.6rem; }
          #table td[colspan] { padding-left: 0.6rem; }
          #table td.c0::before { content: "Read"; }
          #table td.c1::before { content: "Write, add"; }
          #table td.c2::before { content: "Delete"; }
          #table td.c3::before { content: "Permissions"; }
          #table td.c4::before { content: "Ownership"; }
          #table td.c5::before { content: "Entries"; }
          #table td.c6::before { content: "Unusual"; }
          #table td.c7::before { content: "More"; }
          .d2 { margin-left: 0.5rem !important; }
          .d3, .d4, .d5, .d6 { margin-left: 1rem !important; }
        }
        @media print { form, nav, .skip, .fold { display: none; } }
        """
}
