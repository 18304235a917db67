/**
 * Words that do not tell what a prompt is about: those of the language, and those of ordinary requests to a coding agent.
 * Base forms only: `isOrdinary` also tries a word without 's, -s, -ed, -ing and -ly.
 */
const LANGUAGE =
  "a about above after again agree all also am an and any are as at be because been before being below both but by " +
  "can could did do does done down each else even ever every few for from further get got had has have " +
  "he her here hers him his how i if in instead into is it its just keep kind later less let like lot made many may " +
  "me might more most much must my need never new next no not now of off on once one only or other our out over own " +
  "per please put rather same say see shall she should since so some still such than that the their them then there " +
  "these they thing this those though through time to today together too try two under until up us use very via " +
  "want was way we well were what when where whether which while who whom whose why will with within without would " +
  "yes yet you your i'm i'd i've don't doesn't isn't can't won't thank ok " +
  "okay hello hi hey sure great good bad better best first last old right wrong little big small think know mean " +
  "look seem feel tell ask show give take make come go went start stop begin end continue finish happen " +
  "really actually maybe perhaps something anything everything nothing someone anyone everyone bit piece part step " +
  "point idea question answer example different similar simple easy quick fast slow hard long short " +
  "full whole current able possible available sorry remember remind decide decision previous " +
  "yesterday tomorrow week day month year";
const REQUESTS =
  "add adjust allow analyse analyze api app application apply argument array assert async await backend block " +
  "branch break broken bug build button cache call case catch change check class clean cleanup cli client code " +
  "color colour column command comment commit compile component config configuration configure connect connection " +
  "constant context convert copy correct crash create css data database debug default define delete dependency " +
  "deploy describe design detail develop diff directory docker dockerfile disable doc document documentation " +
  "dry duplicate edit element empty enable endpoint ensure entry env environment error eslint event exception " +
  "execute exist explain explore export extend extract fail failure feature fetch field file find fix flag flaky " +
  "folder follow font footer form format framework frontend function generate git github go handle handler helper " +
  "hook html http icon implement implementation import improve include index info input inspect install instance " +
  "integrate integration interface investigate iso issue item java javascript js json key label lib library line " +
  "lint linter list load local log logging logic loop main makefile manage match merge message menu method migrate " +
  "migration missing mock mode model module move name node npm null number object open optimise optimize option " +
  "order output package page param parameter parse pass patch path performance perform plan prefer prettier print " +
  "problem process program programming project prompt property pull push py pytest python query race read readme " +
  "refactor regex release remove rename render replace repo repository report request require resolve response rest " +
  "result return review rewrite root route run rust react save schema screen script sdk search section select " +
  "server service set setting setup sh shell snippet sort source split sql stack state statement static status " +
  "store string structure style suite summarise summarize summary support switch syntax system table task test text " +
  "throw ticket timestamp title todo tool total trace track trigger true false ts type typescript typeerror typo ui " +
  "unit unused update upgrade url user util utility validate validation value variable verify version view warning " +
  "web window word work workflow worker write";

export const ORDINARY: ReadonlySet<string> = new Set(`${LANGUAGE} ${REQUESTS}`.split(" "));
