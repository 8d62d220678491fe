//! A web server and what is behind it as one switch: plan, agreement, the work.

use std::path::Path;

use looptax_model::failure::Failure;
use looptax_model::record::{SwitchFate, SwitchOutcome, SwitchStep, Switched};
use looptax_report::terminal as report;
use looptax_switch::{Stack, StackOrder, StackWish, carry_out_stack, look_at_stack};

use super::doing::{Doing, kept};
use super::planned;
use crate::failure::Exit;
use crate::signals;

/// What stands behind web servers, and has no list of sessions that would prove a move.
const BEHIND: [&str; 3] = ["php-fpm", "http", "uwsgi"];

/// Says what can be done for a web server's file alone, which no server's list of sessions proves.
pub(super) fn hint(doing: Doing<'_>, switched: &Switched, file: &Path) {
    let is_behind = |it: &looptax_model::record::SwitchConnection| {
        it.fate != SwitchFate::IsThere && BEHIND.contains(&&*it.check.product)
    };
    if !switched.connections.iter().any(is_behind) {
        return;
    }
    doing.terminal.words_for(
        true,
        &format!(
            "hint: a web server's file and that of what is behind it move together: looptax switch SITE POOL --url PAGE; `looptax check --app {} --socket PATH` says the lines of each\n",
            file.display()
        ),
    );
}

impl Doing<'_> {
    /// Moves both files, or says why not.
    pub(super) fn switch_together(self, files: [&Path; 2]) -> Result<Exit, Failure> {
        let args = self.args;
        self.refuse_while_busy()?;
        let stack = look_at_stack(StackWish {
            files,
            socket: args.socket.as_deref(),
            reload: args.reload.as_deref(),
        })?;
        if args.patch {
            return planned::print_patch(&stack.plan);
        }
        let mut switched = planned::told(&stack.plan, args);
        switched.proof.reload = Some(stack.commands().join(" && "));
        let source = std::path::absolute(files[0]).unwrap_or_else(|_| files[0].to_owned());
        let source = source.display().to_string();
        let plan = report::switch_plan(&switched, &source, self.terminal.style());
        self.show(&plan)?;
        if stack.plan.edited.is_empty() {
            return self.nothing(switched);
        }
        planned::refuse_unwritable(&switched)?;
        if args.dry_run {
            match &args.url {
                // Better now than after the plan was agreed to.
                Some(url) => drop(stack.page_before(url)?),
                None => self
                    .terminal
                    .words("a page that proves it is still to be named: --url http://127.0.0.1/\n"),
            }
            switched.outcome = SwitchOutcome::Planned;
            return self.end(&switched, Exit::Done);
        }
        let Some(url) = &args.url else {
            return Err(Failure::usage(
                "only a page can prove this: a web server's connections to what is behind it last a millisecond, and nobody logs in",
                "name one that is made anew each time: --url http://127.0.0.1/",
            ));
        };
        self.may_ask()?;
        let page = stack.page_before(url)?;
        if !self.agrees(&switched) {
            switched.outcome = SwitchOutcome::Planned;
            return self.end(&switched, Exit::No);
        }
        self.carry_out_together(&stack, switched, page, &source)
    }

    fn carry_out_together(
        self,
        stack: &Stack,
        mut switched: Switched,
        page: looptax_switch::Page,
        source: &str,
    ) -> Result<Exit, Failure> {
        let now = jiff::Zoned::now();
        let stop = signals::stop_flag()?;
        let order = StackOrder {
            kept: &kept()?,
            day: &now.strftime("%Y%m%d").to_string(),
            at: &now.timestamp().to_string(),
            title: &planned::title(&switched, source),
            page,
            within: self.args.within,
            stop: &stop,
        };
        let mut steps = Vec::new();
        let mut tell = |step: SwitchStep| {
            // Who reads has gone; the switch goes on all the same.
            let _gone = self.show(&report::switch_step(&step, self.terminal.style()));
            steps.push(step);
        };
        let carried = carry_out_stack(stack, &order, &mut tell)?;
        switched.steps = steps;
        self.came_of(switched, carried)
    }
}
