/** The count of tokens is not below that of two tokenizers. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { encode as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { encode as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { tokensOf } from "../../../src/memory/brief/tokens.ts";
import { random as seeded } from "../../random.ts";

const ROOT = join(import.meta.dir, "../../..");
const random = seeded(11);
const chosen = (letters: string, length: number) =>
  Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join("");
const ids = (letters: string, length: number) => Array.from({ length: 40 }, () => chosen(letters, length)).join(" ");
const HEX = "0123456789abcdef";
const ALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

const TEXTS = {
  ...Object.fromEntries(
    ["README.md", "src/memory/memory.ts", "ffi/ty_runtime/calls/read.c", "package.json", "test/data/notes.jsonl"].map(
      (file) => [file, readFileSync(join(ROOT, file), "utf8").slice(0, 10_000)],
    ),
  ),
  uuids: Array.from({ length: 40 }, () => crypto.randomUUID()).join("\n"),
  hex: ids(HEX, 40),
  base64: ids(ALL, 64),
  ulids: ids("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
  digits: ids("0123456789", 13),
  punctuation: chosen("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~", 500),
  German:
    "Die Bereitstellung erfolgt blau-grün; Rückabwicklungen größerer Änderungen sind ausschließlich nachts möglich.",
  French: "Nous déployons en bleu-vert ; avant chaque bascule la base est sauvegardée. Où est-ce que ça s'arrête ?",
  Polish: "Wdrażamy niebiesko-zielono; przed każdą zmianą zapisujemy kopię. Chrząszcz brzmi w trzcinie.",
  Czech: "Před každým přepnutím se databáze zálohuje. Příliš žluťoučký kůň úpěl ďábelské ódy.",
  Turkish: "Her geçişten önce veritabanı yedeklenir. Ekip kısa iletileri yeğler.",
  Finnish: "Ennen jokaista vaihtoa tietokanta varmuuskopioidaan. Epäjärjestelmällistyttämättömyydellänsäkään.",
  Vietnamese: "Chúng tôi triển khai xanh lam và xanh lục; cơ sở dữ liệu được sao lưu.",
  Indonesian: "Sebelum setiap peralihan basis data dicadangkan. Tim lebih menyukai pesan singkat.",
  Russian: "Перед каждым переключением база данных сохраняется. Команда предпочитает короткие сообщения.",
  Greek: "Πριν από κάθε αλλαγή αποθηκεύεται η βάση δεδομένων.",
  Hebrew: "לפני כל מעבר בסיס הנתונים מגובה. הצוות מעדיף הודעות קצרות.",
  Arabic: "قبل كل تبديل يتم حفظ قاعدة البيانات. يفضل الفريق رسائل قصيرة.",
  Hindi: "हर बदलाव से पहले डेटाबेस सहेजा जाता है। टीम छोटे संदेश पसंद करती है।",
  Thai: "ก่อนการสลับทุกครั้งจะสำรองฐานข้อมูล",
  Tamil: "ஒவ்வொரு மாற்றத்திற்கும் முன் தரவுத்தளம் சேமிக்கப்படுகிறது.",
  Georgian: "ყოველი გადართვის წინ მონაცემთა ბაზა ინახება.",
  Armenian: "Յուրաքանչյուր փոփոխությունից առաջ տվյալների բազան պահվում է։",
  Amharic: "ከእያንዳንዱ ለውጥ በፊት የውሂብ ጎታው ይቀመጣል።",
  Chinese: "每次切换之前都会备份数据库。团队偏好简短的提交信息。",
  Japanese: "切り替えの前に毎回データベースをバックアップします。",
  Korean: "전환하기 전에 매번 데이터베이스를 백업합니다.",
  emoji:
    "\u{1f680}\u{1f525} done \u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u2705 \u2764\ufe0f \u{1f1e9}\u{1f1ea} \u{1f9d1}\u{1f3fd}\u200d\u{1f4bb}",
  symbols: "∀ε>0 ∃δ: |x−a|<δ ⇒ |f(x)−L|<ε ∑∏∫√∞≈≠ ┌──┬──┐│ ✓ │ → • … — “q”",
};

for (const [name, text] of Object.entries(TEXTS)) {
  test(`tokens of ${name}`, () => {
    expect(tokensOf(text)).toBeGreaterThanOrEqual(Math.max(o200k(text).length, cl100k(text).length));
  });
}

test("English has not many more tokens than it is counted", () => {
  const text = readFileSync(join(ROOT, "README.md"), "utf8").slice(0, 10_000);
  expect(tokensOf(text)).toBeLessThan(2 * o200k(text).length);
});
