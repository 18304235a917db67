/** Shells, data definition, builds and languages of which one line of the table is enough. */
import { type Grammar, ID, inner, keyword, type Rule, rule, SLASHES, top } from "./grammar.ts";

const DOTTED = `(?:${ID}[.:]{1,2}){0,8}(${ID})`;

export const SHELL: Grammar = {
  rules: [
    rule("function[ \\t]+([\\w.:+@-]+)"),
    rule("([\\w.:+@-]+)[ \\t]{0,4}\\([ \\t]{0,4}\\)"),
    top(
      "(?:(?:export|readonly|declare(?:[ \\t]+-\\w+){0,3}|typeset(?:[ \\t]+-\\w+){0,3})[ \\t]+)?([A-Z_][A-Z0-9_]{2,})=",
    ),
    rule("alias[ \\t]+(?:-\\w+[ \\t]+)?([\\w.:+@-]+)="),
  ],
};

export const FISH: Grammar = { rules: [rule("function[ \\t]+([\\w.:+@-]+)")] };
export const AWK: Grammar = { rules: [keyword("", "function func")] };
export const BATCH: Grammar = { rules: [rule(":([A-Za-z_][\\w.-]*)")] };

export const POWERSHELL: Grammar = {
  rules: [
    rule("(?:function|filter|workflow)[ \\t]+(?:(?:global|script|local|private):)?([\\w-]+)", "i"),
    rule("(?:class|enum)[ \\t]+(\\w+)", "i"),
    inner("(?:(?:hidden|static)[ \\t]+){0,2}\\[[\\w.[\\]]{1,80}\\][ \\t]*(\\w+)[ \\t]*\\(", "i"),
  ],
  comments: [["<#", "#>"]],
};

const SQL_NAME = '(?:[`"[]?[\\w$]+[`"\\]]?\\.){0,3}[`"[]?([\\w$]+)';
export const SQL: Grammar = {
  rules: [
    rule(
      "create[ \\t]+(?:or[ \\t]+replace[ \\t]+|global[ \\t]+|local[ \\t]+|temp(?:orary)?[ \\t]+|unlogged[ \\t]+|unique[ \\t]+|" +
        "materialized[ \\t]+|recursive[ \\t]+|external[ \\t]+|virtual[ \\t]+|constraint[ \\t]+|definer[ \\t]*=[ \\t]*\\S{1,60}[ \\t]+)*" +
        "(?:table|view|function|procedure|trigger|type|domain|sequence|schema|index|role|database|extension|package(?:[ \\t]+body)?|aggregate|policy|event)" +
        `[ \\t]+(?:concurrently[ \\t]+)?(?:if[ \\t]+not[ \\t]+exists[ \\t]+)?${SQL_NAME}`,
      "i",
    ),
  ],
  comments: SLASHES,
};

export const PROTO: Grammar = {
  rules: [
    keyword(
      "",
      "message enum service rpc oneof struct union exception typedef(?:\\s+\\S{1,80}) const(?:\\s+\\S{1,80})",
    ),
  ],
  comments: SLASHES,
};

export const GRAPHQL: Grammar = {
  rules: [
    keyword("", "type interface enum input union scalar fragment query mutation subscription"),
    rule(`directive[ \\t]+@(${ID})`),
  ],
  strings: ['"""'],
};

export const PRISMA: Grammar = { rules: [keyword("", "model enum type view generator datasource")] };

export const HCL: Grammar = {
  rules: [
    rule('(?:resource|data|ephemeral)[ \\t]+"[\\w-]+"[ \\t]+"([\\w-]+)"'),
    rule('(?:variable|output|module|provider|check|job|group|task|target|source|build)[ \\t]+"([\\w.-]+)"'),
  ],
  comments: SLASHES,
};

export const MAKEFILE: Grammar = {
  rules: [
    top("(?:(?:export|override)[ \\t]+)?([\\w.-]+)[ \\t]*(?:::?|[?+!])?="),
    rule("define[ \\t]+([\\w.-]+)"),
    top("([\\w./%-]+)[ \\t]*::?(?:[^=]|$)"),
  ],
};
export const JUST: Grammar = {
  rules: [top("@?([A-Za-z_][\\w-]*)(?:[ \\t][^:=]{0,120})?:(?!=)"), top("([A-Za-z_][\\w-]*)[ \\t]*:=")],
};
export const CMAKE: Grammar = {
  rules: [
    rule(
      "(?:function|macro|add_library|add_executable|add_custom_target|option|project)[ \\t]*\\([ \\t]*([\\w.:+-]+)",
      "i",
    ),
  ],
};
export const DOCKERFILE: Grammar = {
  rules: [rule("FROM[ \\t]+\\S{1,200}[ \\t]+AS[ \\t]+([\\w.-]+)", "i"), rule("ARG[ \\t]+(\\w+)")],
};
export const NIX: Grammar = { rules: [rule(`(${ID})[ \\t]*=[ \\t]*(?:\\{|[\\w@]+:|rec\\b)`)] };

const fortran =
  "(?:(?:pure|elemental|recursive|impure|module|integer|real|logical|complex|character|double[ \\t]+precision)(?:\\([^)]{0,40}\\))?[ \\t]+)*";
const oneRule = (source: string, flags = ""): Grammar => ({ rules: [rule(source, flags)] });
const slashed = (...rules: Rule[]): Grammar => ({ rules, comments: SLASHES });

/** One pattern each, the name last. */
export const SMALL: Record<string, Grammar> = {
  ada: oneRule(
    `(?:overriding[ \\t]+|not[ \\t]+|generic[ \\t]+)*(?:procedure|function|package(?:[ \\t]+body)?|type|subtype|task(?:[ \\t]+type)?|protected(?:[ \\t]+type)?)[ \\t]+${DOTTED}`,
    "i",
  ),
  assembly: oneRule("([A-Za-z_.$][\\w.$@]*):"),
  coffeescript: {
    rules: [
      rule(`class[ \\t]+${DOTTED}`),
      rule(`@?(?:${ID}[.:]{1,2}){0,6}(${ID})[ \\t]*[=:][ \\t]*(?:\\([^)]{0,160}\\)[ \\t]*)?[-=]>`),
    ],
    comments: [["###", "###"]],
  },
  crystal: {
    rules: [
      keyword(
        "private protected abstract",
        "def class module struct enum lib macro alias annotation",
        `(?:self\\.)?(?:${ID}::){0,8}(${ID}[?!=]?)`,
      ),
      rule("([A-Z]\\w*)[ \\t]*=(?!=)"),
    ],
  },
  elm: {
    ...oneRule("(?:type(?:[ \\t]+alias)?|port|module)[ \\t]+(?:\\w+\\.){0,10}(\\w+)|([a-z]\\w*)[ \\t]*:(?!:)"),
    comments: [["{-", "-}"]],
    once: true,
  },
  fortran: oneRule(
    `${fortran}(?:subroutine|function|module(?:[ \\t]+procedure)?|program|interface|type(?:,[^:]{1,60})?(?:[ \\t]*::)?)[ \\t]+(\\w+)`,
    "i",
  ),
  gleam: slashed(keyword("pub opaque", "fn type const")),
  latex: oneRule(
    "\\\\(?:re|provide)?(?:newcommand|NewDocumentCommand|def|newenvironment|DeclareMathOperator)\\*?[ \\t]*\\{?\\\\?([A-Za-z@]+)",
  ),
  llvm: oneRule('define\\b[^@]{0,160}@"?([\\w.$-]+)'),
  matlab: oneRule("(?:function[ \\t]+(?:[^=(]{1,80}=[ \\t]*)?|classdef[ \\t]+(?:\\([^)]{0,60}\\)[ \\t]*)?)([\\w.]+)"),
  pascal: oneRule(
    `(?:class[ \\t]+)?(?:procedure|function|constructor|destructor|program|unit)[ \\t]+${DOTTED}|(${ID})[ \\t]*=[ \\t]*(?:packed[ \\t]+)?(?:class|record|interface|object)\\b`,
    "i",
  ),
  sass: { ...oneRule("@(?:mixin|function)[ \\t]+([\\w-]+)|%([\\w-]+)|\\$([\\w-]+)[ \\t]*:"), comments: SLASHES },
  solidity: slashed(keyword("abstract", "contract interface library function modifier event error struct enum type")),
  starlark: {
    rules: [rule(`def[ \\t]+(${ID})`), top(`(${ID})[ \\t]*=(?!=)`)],
    strings: ['"""'],
  },
  tcl: oneRule("(?:proc|namespace[ \\t]+eval|oo::class[ \\t]+create|method)[ \\t]+(?:\\w*::){0,8}([\\w.-]+)"),
  vb: oneRule(
    `(?:(?:public|private|protected|friend|shared|static|overrides|overridable|mustoverride|partial|async|default|readonly)[ \\t]+)*(?:sub|function|property(?:[ \\t]+(?:get|let|set))?|class|module|structure|interface|enum|type)[ \\t]+(${ID})`,
    "i",
  ),
  verilog: slashed(
    keyword(
      "virtual automatic static typedef extern local protected",
      "module interface package class program primitive task function(?:\\s+(?:automatic|void|int|bit|logic|string)){0,3}",
    ),
    rule(`\`define[ \\t]+(${ID})`),
  ),
  vhdl: oneRule(
    "(?:entity|architecture|package(?:[ \\t]+body)?|component|function|procedure|type|subtype|constant)[ \\t]+(\\w+)",
    "i",
  ),
  vim: oneRule(
    "(?:fu|func|function|def)!?[ \\t]+(?:\\w:)?([\\w#.]+)|com(?:mand)?!?[ \\t]+(?:-\\S{1,60}[ \\t]+)*(\\w+)",
  ),
  wgsl: slashed(keyword("", "fn struct alias const override")),
};
