/** `svc completions`: the script that completes the command lines of a shell. It asks `svc __complete` (`complete.ts`). */
import { command } from "./command.ts";
import { print } from "./output.ts";

/** Candidates come as texts that are only ever inserted: no script evaluates one. */
const SCRIPTS = {
  bash: `# Completes svc in bash.
_svc() {
  local exe line kind=
  exe=$(type -P svc) || return
  COMPREPLY=()
  while IFS= read -r line; do
    if [ -z "$kind" ]; then kind=$line; else COMPREPLY+=("$line"); fi
  done < <("$exe" __complete bash "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" </dev/null 2>/dev/null)
  case $kind in
    files) compopt -o default 2>/dev/null ;;
    folders) compopt -o dirnames 2>/dev/null ;;
  esac
}
# An older bash, as macOS has it, cannot choose at Tab.
if type compopt >/dev/null 2>&1; then complete -F _svc svc; else complete -o default -F _svc svc; fi
`,
  zsh: `#compdef svc
# Completes svc in zsh.
_svc() {
  local exe=\${commands[svc]} kind
  [[ -n $exe ]] || return 1
  local -a asked lines
  asked=("\${(@Q)words[2,CURRENT-1]}")
  (( CURRENT > 2 )) || asked=()
  lines=("\${(@f)$("$exe" __complete zsh "\${asked[@]}" "\${(Q)PREFIX}" </dev/null 2>/dev/null)}")
  kind=$lines[1]
  shift lines
  case $kind in
    files) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;
    folders) [[ $PREFIX == --*=* ]] && compset -P '*='; _files -/ ;;
    *) (( $#lines )) && _describe -t svc svc lines ;;
  esac
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`,
  fish: `# Completes svc in fish.
function __svc_complete
    set -l exe (command -s svc); or return
    set -l current (commandline -ct)
    set -l asked (commandline -opc)
    set -l lines ($exe __complete fish $asked[2..-1] "$current" </dev/null 2>/dev/null)
    set -l flag (string match -r -- '^--[^=]*=' "$current")
    set -l path (string replace -r -- '^--[^=]*=' '' "$current")
    switch "$lines[1]"
        case files
            printf "$flag%s\\n" (__fish_complete_path "$path")
        case folders
            printf "$flag%s\\n" (__fish_complete_directories "$path" '')
        case '*'
            test (count $lines) -gt 1; and printf '%s\\n' $lines[2..-1]
    end
end
complete -c svc -f -a '(__svc_complete)'
`,
} as const;

type Shell = keyof typeof SCRIPTS;

export default command({
  details:
    "Prints a script for your shell. With it, Tab completes commands, flags, values, files and names of collections. " +
    "The script calls the svc on the PATH.\n\n" +
    "bash: put this line into ~/.bashrc\n" +
    '    eval "$(svc completions bash)"\n' +
    "zsh: put this line into ~/.zshrc, below 'autoload -U compinit; compinit'\n" +
    '    eval "$(svc completions zsh)"\n' +
    "fish: run this once\n" +
    "    svc completions fish > ~/.config/fish/completions/svc.fish",
  examples: ["svc completions bash", "svc completions fish > ~/.config/fish/completions/svc.fish"],
  args: {
    shell: { type: "positional", description: "bash, zsh or fish", choices: ["bash", "zsh", "fish"] },
  },
  worksWithoutHome: true,
  async run({ args }) {
    print(SCRIPTS[args.shell as Shell].trimEnd());
  },
});
