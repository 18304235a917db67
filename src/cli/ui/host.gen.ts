// What the pages of svc ui take from the rest of svc. Made by src/build/ui-bundle.ts.
import { termsOf, wordSpans } from "../../answers/words.ts";
import { readFolder } from "../../checks/folders.ts";
import { readId } from "../../checks/ids.ts";
import { shown } from "../../checks/kinds.ts";
import { checkName, REPO_COLLECTION, REPO_KEY } from "../../checks/names.ts";
import { readTime } from "../../checks/times.ts";
import { readWrittenValue } from "../../checks/where.ts";
import { diskError, makeDirectory, writeNew } from "../../durable.ts";
import { attempt, CancelledError, OSError, SvcError, ValueError } from "../../errors.ts";
import { FORMATS, openRows } from "../../formats/formats.ts";
import { parseArguments } from "../../memory/arguments.ts";
import { isSame } from "../../memory/edit.ts";
import { exportPages, headLine } from "../../memory/transfer/export.ts";
import { ExportFile } from "../../memory/transfer/export-file.ts";
import { FileImport } from "../../memory/transfer/import.ts";
import { readWrittenMetadata, writtenMetadata } from "../../memory/typed/written-metadata.ts";
import { TERMINAL, withOrigin } from "../../origin.ts";
import { numberedLines } from "../../repo/show/numbered.ts";
import { shellWord } from "../../shell-word.ts";
import { whyUnreadable } from "../../store/overview.ts";
import { sameSecret } from "../../trust/authority/context.ts";

export const HOST = {
  "answers/words.ts": { termsOf, wordSpans },
  "checks/folders.ts": { readFolder },
  "checks/ids.ts": { readId },
  "checks/kinds.ts": { shown },
  "checks/names.ts": { REPO_COLLECTION, REPO_KEY, checkName },
  "checks/times.ts": { readTime },
  "checks/where.ts": { readWrittenValue },
  "durable.ts": { diskError, makeDirectory, writeNew },
  "errors.ts": { CancelledError, OSError, SvcError, ValueError, attempt },
  "formats/formats.ts": { FORMATS, openRows },
  "memory/arguments.ts": { parseArguments },
  "memory/edit.ts": { isSame },
  "memory/transfer/export-file.ts": { ExportFile },
  "memory/transfer/export.ts": { exportPages, headLine },
  "memory/transfer/import.ts": { FileImport },
  "memory/typed/written-metadata.ts": { readWrittenMetadata, writtenMetadata },
  "origin.ts": { TERMINAL, withOrigin },
  "repo/show/numbered.ts": { numberedLines },
  "shell-word.ts": { shellWord },
  "store/overview.ts": { whyUnreadable },
  "trust/authority/context.ts": { sameSecret },
};
