//! The codes beside sentences: kebab-case, stable, for programs.
//!
//! Each code has one sentence, which is its documentation in the schema and in docs/codes.md.

/// Makes an enum of codes, whose list holds the comment of each variant as its sentence.
macro_rules! codes {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $sentence:literal])+ $variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[doc = $sentence])+ $variant,)+
        }

        impl $name {
            /// Every code with its sentence, in the order of the docs.
            pub const ALL: &[(Self, &str)] = &[$((Self::$variant, concat!($($sentence),+)),)+];
        }
    };
}
pub(super) use codes;

codes! {
    /// The result of a point of `looptax check`.
    PointCode {
        /// A server that is known listens on the port.
        ServerListens,
        /// No server that is known was seen on the port.
        ServerNotSeen,
        /// Nothing listens on the port.
        NothingListens,
        /// Something listens on the port, and what it is cannot be seen.
        ListenerUnknown,
        /// A server listens on the port that speaks otherwise than the address says.
        ListenerOfAnotherKind,
        /// The host is another machine.
        ServerElsewhere,
        /// The host is the name of a container of a Compose file.
        ServerInContainer,
        /// The host is the loopback of a container, whose server is not asked from here.
        LoopbackOfContainer,
        /// The port beside `localhost` does not count, and the socket is another server's.
        PortIgnored,
        /// libpq takes parameters from a service file.
        ServiceRead,
        /// A variable of this environment would decide where libpq connects, or whether it takes a socket.
        VariableDecides,
        /// Closed connections hold enough ports towards the server that connecting may fail.
        PortsHeld,
        /// The server listens only on TCP.
        SocketMissing,
        /// The server's own file is to make it listen on a socket.
        SocketToBeMade,
        /// The folder of a socket that is to be made does not take one of the server's, or does not let the client through.
        FolderUnfit,
        /// Which program is the application, or the user that it runs as, is not known.
        ClientUnknown,
        /// Programs that are not moved are connected to a port that the server gives up for the socket.
        OthersAtPort,
        /// The client can connect to the socket.
        SocketReachable,
        /// The client does not see the socket, or a folder on the way to it.
        SocketNotVisible,
        /// Nothing is at the path, and no process listens on a socket of that name.
        SocketAbsent,
        /// No volume of the file brings the socket's folder into the container.
        FolderNotInContainer,
        /// The path is one within a container, and what is there is not known.
        SocketInContainer,
        /// The path is in a volume of the file.
        SocketInVolume,
        /// A setting of the unit takes Unix sockets from its program.
        UnitForbidsSockets,
        /// A setting of the unit hides the socket from its program.
        UnitHidesSocket,
        /// The unit's user is not known here.
        UnitUserUnknown,
        /// A folder on the way to the socket does not let the client through.
        FolderDenied,
        /// The socket's own permissions do not let the client in.
        SocketDenied,
        /// The file at the path is not a socket.
        NotASocket,
        /// No process listens on the socket.
        SocketDeserted,
        /// The socket's queue of connections is full just now.
        BacklogFull,
        /// The path is longer than the kernel takes.
        PathTooLong,
        /// The permissions allow the connection, and a security module denies it.
        ConfinementDenies,
        /// The way to the socket could not be tried.
        PathNotTried,
        /// The socket that is yet to be made will let the client in.
        SocketWillLetIn,
        /// Something is where the socket is to be made.
        PathTaken,
        /// Others go to the same port, at which no process would listen any more.
        PortUsedByOthers,
        /// A driver's usual socket, which `localhost` means, cannot be reached.
        UsualSocketUnreachable,
        /// No security module confines the client.
        NotConfined,
        /// The client is confined, and what its policy allows is not known.
        Confined,
        /// Whether the client is confined cannot be seen.
        ConfinementUnknown,
        /// One server is behind both endpoints.
        ServerSame,
        /// Two servers are behind the endpoints.
        ServersDiffer,
        /// Whether one server is behind both endpoints is not known.
        ServerSameUnknown,
        /// The account is the same over both, with the same rights.
        AccountSame,
        /// Another account over the socket, with all rights of the one over TCP.
        AccountDiffers,
        /// Another account over the socket, which gets more than the one over TCP.
        AccountGetsMore,
        /// The account comes in over TCP, and none does over the socket.
        AccountMissing,
        /// An account comes in over the socket, and none does over TCP.
        AccountSocketOnly,
        /// The login fails over both, so nothing is known of the account.
        AccountUnknown,
        /// The account of the socket lacks rights that the one of TCP has.
        RightsMissing,
        /// The account of the socket lacks rights that no statement gives, for a row for more databases hides theirs.
        RightsHidden,
        /// User or password are not known, so no login was tried.
        CredentialsUnknown,
        /// No login was tried over the socket, because it was not reached.
        LoginNotTried,
        /// No login was tried, because nothing shows that the server listens there.
        PeerUnproved,
        /// The server lets one in and does not answer what it is asked, so that nothing is known of the account.
        AnswersUnfit,
        /// libpq insists on something that a connection over the socket meets.
        ConditionMet,
        /// libpq insists on something that no connection over the socket meets.
        ConditionUnmet,
        /// libpq insists on something, and whether a connection over the socket meets it is not known.
        ConditionUnknown,
        /// The login works over both.
        LoginWorks,
        /// The login works over TCP and fails over the socket.
        LoginFailsOverSocket,
        /// The login works over TCP and fails over the socket for somebody who is not the client.
        LoginFailsForUs,
        /// The login works over the socket and fails over TCP.
        LoginFailsOverTcp,
        /// The login fails over both.
        LoginFails,
        /// The account demands TLS, on the socket too.
        AccountDemandsTls,
        /// The URL demands TLS, or the server does of TCP, and there is none on its socket.
        TlsNotOnSocket,
        /// The URL demands TLS, or the server does of TCP, and a driver may go on paying for it on the socket.
        TlsOnSocket,
        /// Sessions on the socket are encrypted now.
        SessionsSealedOnSocket,
        /// Sessions from this machine over TCP are encrypted now.
        SessionsSealedOverTcp,
        /// The server demands a secure transport, and a socket counts as one.
        SocketCountsAsSecure,
        /// The account's plugin fails with some drivers while the server's password cache is cold.
        PasswordCacheCold,
        /// `pg_hba.conf` was not found, or may not be read.
        HbaNotReadable,
        /// No local line of `pg_hba.conf` is for this user and database.
        HbaLineMissing,
        /// Which line of `pg_hba.conf` decides is not known for sure.
        HbaLineUnsure,
        /// The line of `pg_hba.conf` refuses the socket.
        HbaRejects,
        /// The line of `pg_hba.conf` lets in the accounts of a map of users.
        HbaMapUnknown,
        /// The line of `pg_hba.conf` lets in another system user than the client's.
        HbaPeerDiffers,
        /// The line of `pg_hba.conf` lets in the client's system user.
        HbaPeerSame,
        /// The line of `pg_hba.conf` lets everybody in without a password.
        HbaTrust,
        /// The line of `pg_hba.conf` asks for a password, as TCP does.
        HbaPassword,
        /// A burst of connections finds room in the socket's queue.
        BacklogEnough,
        /// A burst of connections finds no room in the socket's queue.
        BacklogShort,
        /// The same, and the client waits for room.
        BacklogWaits,
        /// How many connections come at once is not known, or how many may wait.
        BacklogUnknown,
        /// Tools that only see TCP connections no longer see these.
        TcpToolsBlind,
        /// The configuration takes the socket already.
        TakesSocket,
        /// The present configuration reaches nothing, or not the socket that it names.
        ReachesNothing,
        /// The configuration takes TCP.
        TakesTcp,
        /// The configuration takes TCP, to a server that looptax does not speak to.
        TakesTcpUnspoken,
        /// Which transport the configuration takes is not known.
        TransportUnknown,
        /// The process is connected over TCP, and which file says so is not known.
        ConnectedOverTcp,
    }
}

codes! {
    /// The fact in a note of `looptax find`.
    NoteCode {
        /// Processes of other users cannot be looked into.
        ProcessesHidden,
        /// Network namespaces of containers cannot be looked into.
        NamespacesClosed,
        /// Sockets were listed in a form that is not understood.
        SocketsUnread,
        /// A server listens only on TCP.
        SocketMissing,
        /// Many short connections over TCP come and go.
        ConnectionsShortLived,
        /// A server's socket is gone while the server runs.
        SocketLost,
        /// A server's socket was replaced by another file while the server runs.
        SocketReplaced,
        /// No process listens on a socket that a server left.
        SocketDeserted,
        /// A client over TCP does not see its server's socket.
        SocketNotVisible,
        /// The cost of a request over TCP was measured, without a usable figure.
        CostNotMeasured,
        /// A process like those of a switch is over TCP again.
        FellBack,
        /// Requests of more processes than there is room for were not counted.
        HopsLost,
        /// Connections on a server's socket are encrypted.
        SealedOnSocket,
        /// Connections over TCP within this machine are encrypted.
        SealedOverTcp,
    }
}

codes! {
    /// The result of a step of `looptax switch`.
    StepCode {
        /// The files are written.
        FilesWritten,
        /// The server's own file was written; the application's follows.
        ServerFileWritten,
        /// A file could not be written; all are as they were.
        FilesNotWritten,
        /// The command that was given has run.
        Reloaded,
        /// The command that was given failed.
        ReloadFailed,
        /// No command was given; the application has to be reloaded by hand.
        ReloadByHand,
        /// The server sees the account over the socket, and the application opens nothing over TCP.
        SeenOverSocket,
        /// The application still connects over TCP.
        StillOverTcp,
        /// Nothing connected within the time.
        NothingConnected,
        /// The server refused logins.
        LoginsRefused,
        /// The application's processes are gone.
        ApplicationGone,
        /// The server does not answer any more.
        ServerGone,
        /// As many connects at once as there are workers were answered.
        BurstAnswered,
        /// Of as many connects at once as there are workers some failed.
        BurstFailed,
        /// The page is as it was before.
        PageAsBefore,
        /// The page is not as it was before.
        PageDiffers,
        /// How many requests for the page failed during the switch.
        PageVisited,
        /// Somebody stopped it.
        Stopped,
        /// The old files are back.
        FilesPutBack,
        /// The old files could not be put back.
        FilesNotPutBack,
        /// The application works as before.
        WorksAsBefore,
        /// Whether the application works as before was not seen.
        NotSeenAgain,
        /// How long requests took before and after.
        RequestsTimed,
        /// Something to know of the proof.
        ProofNote,
        /// A line of the server's log.
        ServerLog,
    }
}
