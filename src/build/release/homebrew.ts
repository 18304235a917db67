/** The formula with which Homebrew installs svc from the files of a release; a tap of the project holds it. */
import type { PlatformTag } from "../../paths.ts";
import { HOMEBREW_TAP, PROJECT_URL, RELEASES_URL } from "../../published.ts";
import type { PlatformFiles } from "../../trust/release/manifest.ts";
import type { Project } from "./project.ts";

export const FORMULA = "svc.rb";

/** The formula of a release. @param platforms its files; Homebrew refuses to install svc on any other platform */
export function formulaOf(
  { version, license }: Project,
  platforms: Partial<Record<PlatformTag, PlatformFiles>>,
): string {
  const source = (tag: PlatformTag, block: string) => {
    const file = platforms[tag]?.gzip;
    if (file === undefined) return "";
    const url = `${RELEASES_URL}/download/v${version}/${file.name}`;
    return `    ${block} do\n      url "${url}"\n      sha256 "${file.sha256}"\n    end\n`;
  };
  const system = (name: string, sources: string) => (sources === "" ? "" : `\n  ${name} do\n${sources}  end\n`);
  return `# brew install ${HOMEBREW_TAP}/svc
class Svc < Formula
  desc "On-device memory for AI agents, searched by meaning and by word"
  homepage "${PROJECT_URL}"
  version "${version}"
  license "${license}"
${system("on_macos", source("macos-arm64", "on_arm"))}${system(
  "on_linux",
  source("linux-arm64", "on_arm") + source("linux-x86_64", "on_intel"),
)}
  def install
    executable = Dir["svc-*"].first
    chmod 0755, executable
    bin.install executable => "svc"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/svc --version")
  end
end
`;
}
