/** Sources that come as families: translations of the same texts, and code with its history. */
import type { Source } from "./source.ts";

/** Rows of repository, commit and what else there is, apart by two spaces. */
const rows = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("  "));

/** Documentation of React, translated by those who read it. */
const REACT = rows(`
reactjs/ar.react.dev  5a263fdf83412db827ed8ef8d816613aba49df85  ar
reactjs/bn.react.dev  083991875f6dcf7114358e7f791bbb7a2be8da57  bn
reactjs/de.react.dev  2e664a02b30e6aefee68f35de685699dee3f6e75  de
reactjs/react.dev  12d692da47e77cdc558b928fcfbaf4e71c6d0cec  en
reactjs/es.react.dev  e91a76a98e0291fd3ae2abeb3da31442981a77f1  es
reactjs/fa.react.dev  846227e0c0eb27bb4a2a4a36991586069112646e  fa
reactjs/fr.react.dev  d60169fc8269d36347b340dd1def35c7af8e031d  fr
reactjs/he.react.dev  5c5cf3d705ceb69501c5bff349985280a6e90681  he
reactjs/hi.react.dev  9b434bb531b2ba3e493b6c7b5aa968cff65d9cc5  hi
reactjs/id.react.dev  b4f5eafd8de53a293752ff0c46371b79bfbdac0f  id
reactjs/it.react.dev  8bd188a0e13e4d834874770af0616037365347dc  it
reactjs/ja.react.dev  7f38231d9d5dddaae6ac51da7d0f173d697f835c  ja
reactjs/ko.react.dev  2e8c873c3cea6703d1c94d01b5d5716259005c8e  ko
reactjs/pl.react.dev  29bb57389586ff9b3b20b463041bf48931ff3496  pl
reactjs/pt-br.react.dev  ac8362350bbc25125a88b9309b54457589023c7e  pt
reactjs/ru.react.dev  2361adda823b4cb04f0c46aade0303d20e6cb8a4  ru
reactjs/tr.react.dev  d7efe07efe6abdd1b32d00be9cd58d54a154c61b  tr
reactjs/uk.react.dev  da7bd45121c470cd4ec997e6c760d5029ac0f75c  uk
reactjs/vi.react.dev  b149357cfb8ae87f02ef108132114e5641d5c16f  vi
reactjs/zh-hans.react.dev  f6cda05526ceff44b24588e9e0c2e2106d4588d4  zh
`);

/** Answers to questions about Office, partly translated by machine. */
const ALCHEMY = rows(`
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.ar-SA  a46b40dcae011a5290e4a280e7569673638799fc  ar
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.cs-CZ  c6e540d955697fda492568bb30295416b596515d  cs
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.da-DK  ea227aadd20429022ef3a6fccf14f3441e8b8575  da
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.de-DE  23ca4e2cdf73f8090baeb600f5953c1e790daade  de
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.el-GR  e976e183728bd86e7d4d3396b588418ffd9d7d49  el
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.es-ES  ff949175267ef9262f28f79042d5d9b18e320d66  es
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.fi-FI  c88cdb63c344689f5bcfd092e9d767d4baa77a70  fi
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.fr-FR  6194788531b135717c4e18c315a054a62f0cdd34  fr
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.he-IL  2a1c294bb2a4efbe75e2f991e8a7fa729e81290b  he
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.hu-HU  adffa844eb2f32ce6716e0b7141ec344d1a023b3  hu
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.id-ID  18524273bda64dd59dcd276832f7ae1e5955213d  id
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.it-IT  08d39d228c6a32558aaaa8c1bb00b3bf8e80d89f  it
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.ja-JP  0d2e09f2049ae5cac3f639c354021343828fc16d  ja
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.ko-KR  eea3ced5c9530449bfa916b2fa160ce476d6237e  ko
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.nl-NL  9b68bdcf4d65d23700dd92c0f720ad56f2b3cae4  nl
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.pl-PL  cb509cc7140c36d6f4893ac0138a6d7aae905f58  pl
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.pt-BR  c52087cb82d556f2b0f5f364fd92850e1bdfb907  pt
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.ro-RO  0cf96852f26813d1b179a74d12344e3c22e021de  ro
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.ru-RU  983c0543efc5c6c80e91a25d09697da8cd8c0d81  ru
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.sv-SE  b63f29c5270b0c43b36d37ab2b5f62b592b531c5  sv
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.th-TH  b99d4bd1cd66c1cc84da6f19ae8b6e36dd95fef3  th
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.tr-TR  2effbcf5a0a0b2f51282715a6a91c746e2799019  tr
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.uk-UA  ef6e5e5f7813208aa6515548e062c8fe42746872  uk
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.vi-VN  877f3e87fa1950bd36ccb397fbd317542e20bffa  vi
MicrosoftDocs/OfficeDocs-AlchemyInsights-pr.zh-CN  12c4ba6c031885a47b64a738f70b112ff8f76059  zh
MicrosoftDocs/dynamics-365-project-operations-pr.hi-in  721295d88f78f13270308758661dae9000b778e4  hi
`);

/** Novels of 1840 to 1920. */
const NOVELS = rows(`
COST-ELTeC/ELTeC-cze  25cb4e935424a0254cf736bc88cfb8217721de15  cs
COST-ELTeC/ELTeC-deu  d1eed488bd579ee95151b1a291a0056a90c36fa4  de
COST-ELTeC/ELTeC-eng  3db3b6738a836f0e1b276b6c9703e42f4297f978  en
COST-ELTeC/ELTeC-spa  83e2a22d5ef66f96e59f47f7ef810358c4236322  es
COST-ELTeC/ELTeC-fra  83f0a43fdb967cd1db646027a1a237307e4924a1  fr
COST-ELTeC/ELTeC-ita  100a4851ed1a1092f082c0ecd109f621c8f62ed4  it
COST-ELTeC/ELTeC-pol  95fe196e35720b3de9644ef3ef1d1bb242bae99a  pl
COST-ELTeC/ELTeC-por  8886868916311001a8a8dd99aa6f18f6a2c68408  pt
COST-ELTeC/ELTeC-rom  418e9a9e92ade7656e191e71ccd99abf44e4763d  ro
COST-ELTeC/ELTeC-swe  eef89d94921e48ff00f75dcdb0f8bcf7d4e273e4  sv
COST-ELTeC/ELTeC-ukr  a8c3d71301cdba767e33551ff0099da1dc51681a  uk
`);

/** Code, and what its authors wrote about their changes. */
const CODE = rows(`
vuejs/core  e2bede96134f757aad5c5b33ac9be055022dbfc8  MIT  LICENSE
fastify/fastify  83e69762aff047940b376fc2a266d143499ef727  MIT  LICENSE
psf/requests  1f6589ec3a1ee910f9a65cc3ceac60b26677bc0e  Apache-2.0  LICENSE
pytest-dev/pytest  df87db7b0462fb764ef73fa00561adf8ad047572  MIT  LICENSE
spring-projects/spring-petclinic  edf4db28affcc4741c79850a3d95bc3f177b5ff9  Apache-2.0  LICENSE.txt
apache/commons-lang  d15939ef46f0bd4144994df8be95cf5a7f91eb52  Apache-2.0  LICENSE.txt
nlohmann/json  199dea11b17c533721b26249e2dcaee6ca1d51d3  MIT  LICENSE.MIT
rubocop/rubocop  3a42c622171794510e03999c8d55129b73c5dc8f  MIT  LICENSE.txt
laravel/framework  bd71b45fbb7e672957bf6ff61baddefe15fbca6a  MIT  LICENSE.md
DapperLib/Dapper  6d48ef664acc7298c649e2d449d903b3360d5a90  Apache-2.0  License.txt
App-vNext/Polly  173d6d1d2e28a4697f1ac1d22da68f77ff19a0c9  BSD-3-Clause  LICENSE
Alamofire/Alamofire  7595cbcf59809f9977c5f6378500de2ad73b7ddb  MIT  LICENSE
square/okhttp  1682d9bac8c03dffde2969b0b74d47649d0dbb52  Apache-2.0  LICENSE.txt
sharkdp/bat  2ba8db9c14e5794572f5ea338c2b90404c9769cb  MIT OR Apache-2.0  LICENSE-MIT, LICENSE-APACHE
ohmyzsh/ohmyzsh  830a5bcfd29fd577fdcd5f3b8e98cbaf973421fa  MIT  LICENSE.txt
jqlang/jq  579e6f76cffd7643ba4002a2c3618a5ea710589a  MIT  COPYING
expressjs/express  a3714473feb3d2908add734d340e7755fd85e0a3  MIT  LICENSE
colinhacks/zod  e516c3baf22615e20934116abebfed6c000222c2  MIT  LICENSE
gin-gonic/gin  dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9  MIT  LICENSE
pallets/flask  2ac89889f4cc330eabd50f295dcef02828522c69  BSD-3-Clause  LICENSE.txt
BurntSushi/ripgrep  3fce3b5bb0236da2df6d99672afb8a719642eca7  MIT OR Unlicense  LICENSE-MIT, UNLICENSE
preactjs/preact  f6c6cda581e1123095c56f9fc232b82fc518e426  MIT  LICENSE
`);

/**
 * Endings of code. Tables, copies of others' code and what a program wrote would tell nothing about how code is
 * written.
 */
const CODE_FILES =
  /\.(tsx?|m?js|jsx|vue|py|rs|go|java|kt|c|h|cpp|hpp|cc|cs|rb|php|swift|z?sh|sql|s?css|html|ya?ml|toml)$/;
const NO_CODE =
  /(^|\/)(vendor|dist|node_modules|third_?party|mkdocs|assets|syntaxes|_*snapshots_*|locales?|single_include|highlighted|source)\/|\.min\.|\.d\.ts$|oniguruma|decNumber|doctest|changelog/;

function react([repository, commit, language]: string[]): Source {
  return {
    name: "react",
    repository: repository!,
    commit: commit!,
    licence: "CC-BY-4.0",
    stated: "LICENSE-DOCS.md",
    kind: "tech",
    language: () => language!,
    format: "markdown",
    files: /^src\/content\/.*\.md$/,
    not: /content\/(community\/(conferences|meetups|videos|team|acknow)|versions|errors)/,
    cap: 900,
    perFile: 60,
  };
}

function alchemy([repository, commit, language]: string[]): Source {
  return {
    name: "alchemy",
    repository: repository!,
    commit: commit!,
    licence: "CC-BY-4.0",
    stated: "LICENSE",
    kind: "tech",
    language: () => language!,
    format: "markdown",
    files: /\.md$/,
    not: /readme|license|contributing|security|thirdparty|toc|code_of/i,
    cap: 700,
    perFile: 60,
  };
}

function novels([repository, commit, language]: string[]): Source {
  return {
    name: "novels",
    repository: repository!,
    commit: commit!,
    licence: "public domain, markup CC-BY-4.0",
    stated: "<licence> of each file",
    kind: "fiction",
    language: () => language!,
    format: "tei",
    files: /^level1\/.*\.xml$/,
    // Several volumes each, and not in every clone: the counts are without them.
    not: /(DEU024|DEU048|ENG18460_Reynolds)\.xml$/,
    states: /<(licence|availability)\b[\s\S]{0,800}?(licenses\/by\/4\.0|publicdomain|CC.?BY 4)/,
    cap: language === "en" ? 4500 : 1200,
    perFile: 45,
  };
}

function code([repository, commit, licence, stated]: string[]): Source[] {
  const name = repository!.replace(/\W/g, "-");
  const both = {
    name,
    repository: repository!,
    commit: commit!,
    licence: licence!,
    stated: stated!,
    language: () => "en",
  };
  return [
    { ...both, kind: "code", format: "code", files: CODE_FILES, not: NO_CODE, cap: 1500, perFile: 12 },
    { ...both, kind: "commits", format: "log", files: /$^/, cap: 1500, perFile: 1500 },
  ];
}

export const FAMILIES: readonly Source[] = [
  ...NOVELS.map(novels),
  ...REACT.map(react),
  ...ALCHEMY.map(alchemy),
  ...CODE.flatMap(code),
];
